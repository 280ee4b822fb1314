// Package openapitest holds the answers of HTTP APIs against the OpenAPI document that
// they serve: in tests, what is answered has to be described, and what is accepted too.
// A Document is safe for concurrent use.
package openapitest
