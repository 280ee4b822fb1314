// Package term is how the commands for people write: tables, facts and lines that fit
// the terminal, and colour only where somebody sees it.
//
// # Guarantees
//
//   - On anything but a terminal the output is plain and whole: no colour unless it was
//     asked for, nothing cut, so that pipes and files can be searched.
//   - On a terminal no line of a table is wider than the terminal, as long as its columns
//     at their narrowest fit. What is cut ends with an ellipsis; columns that were left out
//     are named below the table.
//   - Text of others (ids, titles, what an agent said) cannot move the cursor, colour the
//     screen or break a line: tables, facts, Word and Text write such characters as escapes.
//
// Widths count columns: letters of East Asian scripts take two, combining marks none. Where
// Unicode leaves a width open, one column is assumed.
//
// A Screen has no state but its writer; it is as safe for concurrent use as that is.
// Errors are those of the writer.
package term
