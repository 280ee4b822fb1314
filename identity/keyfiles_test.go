package identity_test

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
