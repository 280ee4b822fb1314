package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// certLook is how often the files of a certificate are looked at.
const certLook = 2 * time.Second

// certificate is the one in tls.cert and tls.key. Connections that exist keep
// the one they began with.
type certificate struct {
	files   TLSConfig
	logger  *slog.Logger
	current atomic.Pointer[tls.Certificate]
	stamp   certStamp // of the files that were read last; run's own
}

// certStamp changes when the files do.
type certStamp [2]struct {
	modified time.Time
	size     int64
}

// newCertificate reads the files for the first time; nil when there are none.
func newCertificate(files TLSConfig, logger *slog.Logger) (*certificate, error) {
	if files.Cert == "" {
		return nil, nil
	}
	c := &certificate{files: files, logger: logger}
	c.stamp = c.look()
	pair, err := files.load()
	if err != nil {
		return nil, err
	}
	c.current.Store(pair)
	return c, nil
}

// load reads a certificate and its key. Its errors are sentences that name the setting.
func (t TLSConfig) load() (*tls.Certificate, error) {
	cert, err := os.ReadFile(t.Cert)
	if err != nil {
		return nil, fmt.Errorf("tls.cert: %w", err)
	}
	key, err := os.ReadFile(t.Key)
	if err != nil {
		return nil, fmt.Errorf("tls.key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("tls.cert %s and tls.key %s are no pair of PEM files: %w", t.Cert, t.Key, err)
	}
	if leaf := pair.Leaf; leaf != nil && time.Now().After(leaf.NotAfter) {
		return nil, fmt.Errorf("tls.cert: %s has expired at %s", t.Cert, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return &pair, nil
}

func (c *certificate) look() (s certStamp) {
	for i, path := range []string{c.files.Cert, c.files.Key} {
		if info, err := os.Stat(path); err == nil {
			s[i].modified, s[i].size = info.ModTime(), info.Size()
		}
	}
	return s
}

// run reads the files again whenever they have changed. What cannot be used,
// because it is wrong or only half written, leaves the old certificate in force.
func (c *certificate) run(ctx context.Context) error {
	ticker := time.NewTicker(certLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c.reload()
		}
	}
}

func (c *certificate) reload() {
	stamp := c.look()
	if stamp == c.stamp {
		return
	}
	pair, err := c.files.load()
	if err == nil {
		c.current.Store(pair)
		c.logger.Info("the certificate was read again", "expires", pair.Leaf.NotAfter.UTC())
	} else {
		c.logger.Warn("the new certificate cannot be used, the old one stays", "error", err)
	}
	c.stamp = stamp
}

// config is for the server: TLS 1.2 or newer, with the certificate of the moment.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
