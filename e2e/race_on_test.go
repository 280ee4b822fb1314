//go:build race

package e2e_test

// raced: the program is built with the race detector when the tests are.
const raced = true
