// Package pack translates between JSON text and MessagePack, in both
// directions and without a document model in between.
//
// Outbound (AppendFromJSON) keeps the order of keys and writes every number in
// the form a JavaScript peer turns back into a plain number: integers that fit
// 32 bits in their smallest form, everything else as float64. (msgpackr
// decodes 64-bit integer forms to BigInt.)
//
// Inbound (ToJSON) accepts what such peers send: map keys must be strings;
// extension type 0 (undefined) is absent in a map and null in a list;
// timestamps (extension -1) become RFC 3339 strings; NaN and the infinities
// become null, as JSON.stringify does; binary becomes a base64 string. Any other
// extension is refused.
//
// Limits (Limits) are checked against what is really there before anything
// is allocated: a header that announces more than the message can hold is
// refused at once, and output grows only with input that was read. CheckJSON
// applies the same limits to JSON text. All functions are pure and safe for
// concurrent use.
package pack
