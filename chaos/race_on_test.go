//go:build race

package chaos_test

// raced: the program is built with the race detector when the tests are.
const raced = true
