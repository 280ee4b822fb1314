package identity

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
)

// keyFiles are public keys from PEM files. Only Run reloads them.
type keyFiles struct {
	paths []string
	text  [][]byte // as last read, to notice changes; also of what could not be used
	now   atomic.Pointer[keys]
}

func (f *keyFiles) current() keys { return *f.now.Load() }

// readKeyFiles reads all files; each must have at least one key.
func readKeyFiles(paths []string) (*keyFiles, error) {
	f := &keyFiles{paths: paths}
	if _, err := f.reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// reload takes over the keys of all files when the contents of one changed. A change that
// cannot be used is told once and changes nothing.
func (f *keyFiles) reload() (changed bool, err error) {
	texts, unread := make([][]byte, len(f.paths)), error(nil)
	for i, path := range f.paths {
		if texts[i], err = readBounded(path); err != nil {
			texts[i], unread = []byte(err.Error()), err
		}
		changed = changed || f.text == nil || !bytes.Equal(texts[i], f.text[i])
	}
	if !changed {
		return false, nil
	}
	f.text = texts
	if unread != nil {
		return false, unread
	}
	var all keys
	for i, path := range f.paths {
		found, err := parsePEM(texts[i])
		if err != nil {
			return false, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, found...)
	}
	f.now.Store(&all)
	return true, nil
}

// largestKeyFile bounds what is read.
const largestKeyFile = 64 << 10

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, largestKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > largestKeyFile {
		return nil, fmt.Errorf("%s: is larger than 64 KiB, which no file of public keys is", path)
	}
	return text, nil
}

// parsePEM reads all public keys of a file.
func parsePEM(text []byte) (keys, error) {
	var found keys
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		public, err := parseBlock(block)
		if err != nil {
			return nil, err
		}
		one, err := pin(public)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	if len(found) == 0 {
		return nil, errors.New("holds no PEM block; a public key begins with -----BEGIN PUBLIC KEY-----")
	}
	return found, nil
}

func parseBlock(block *pem.Block) (any, error) {
	var public any
	var err error
	switch {
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("holds a private key, which does not belong here; make the public one with: openssl pkey -pubout")
	case block.Type == "PUBLIC KEY":
		public, err = x509.ParsePKIXPublicKey(block.Bytes)
	case block.Type == "RSA PUBLIC KEY":
		public, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case block.Type == "CERTIFICATE":
		return nil, errors.New("holds a certificate; take its public key with: openssl x509 -pubkey -noout")
	default:
		return nil, errors.New("holds a PEM block that is no public key")
	}
	if err != nil {
		return nil, fmt.Errorf("holds a public key that cannot be read: %w", err)
	}
	return public, nil
}
