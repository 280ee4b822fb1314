//go:build !race

package chaos_test

const raced = false
