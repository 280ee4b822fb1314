package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// certified is a certificate for 127.0.0.1 with its key, signed by itself.
type certified struct {
	cert, key []byte
	parsed    *x509.Certificate
}

func certify(t testing.TB, serial int64, until time.Time) certified {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "turnlog test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certified{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), parsed: parsed,
	}
}

func put(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// browser is a client that trusts these certificates, with connections of its own.
func browser(t testing.TB, trusted ...certified) *http.Client {
	roots := x509.NewCertPool()
	for _, p := range trusted {
		roots.AddCert(p.parsed)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// talk has one turn over an open socket.
func talk(t testing.TB, ws *websocket.Conn, thread string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	say := object{"command": "chat_message", "data": object{"thread_id": thread, "content": "x", "demo": object{"frames": 3}}}
	if err := wsjson.Write(ctx, ws, say); err != nil {
		t.Fatal(err)
	}
	for {
		var m map[string]any
		if err := wsjson.Read(ctx, ws, &m); err != nil {
			t.Fatal(err)
		}
		if m["type"] == "turn_finished" && m["thread_id"] == thread {
			return
		}
	}
}

func TestTLSWithACertificateThatIsRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first, second := certify(t, 1, time.Now().Add(time.Hour)), certify(t, 2, time.Now().Add(time.Hour))
	put(t, cert, first.cert)
	put(t, key, first.key)
	p, err := spawn(nil, binary(), "serve", "--listen", "127.0.0.1:0", "--tls.cert", cert, "--tls.key", key)
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	addr, _, err := p.Listening(patience)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		resp, err := browser(t, first, second).Get("https://" + addr + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 || resp.ProtoMajor != 2 || resp.Header.Get("Strict-Transport-Security") == "" {
			t.Fatalf("%d over %s, %v", resp.StatusCode, resp.Proto, resp.Header)
		}
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Fatalf("certificate %d", n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "wss://"+addr+"/ws", &websocket.DialOptions{HTTPClient: browser(t, first)})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	talk(t, ws, "before")

	put(t, cert, []byte("half a certificate"))
	if _, err := p.stderr.Await(patience, regexp.MustCompile(`the new certificate cannot be used`)); err != nil {
		t.Fatal(err)
	}
	if n := serial(); n != 1 {
		t.Fatalf("certificate %d after a bad one", n)
	}
	put(t, key, second.key)
	put(t, cert, second.cert)
	if _, err := p.stderr.Await(patience, regexp.MustCompile(`the certificate was read again`)); err != nil {
		t.Fatal(err)
	}
	if n := serial(); n != 2 {
		t.Fatalf("certificate %d after the renewal", n)
	}
	talk(t, ws, "after") // the old connection knows nothing of it

	old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", addr, old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 was accepted")
	}
	if resp, err := http.Get("http://" + addr + "/readyz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Error("served without TLS")
		}
	}
}

func TestTLSFilesThatCannotBeUsedAreToldAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		put(t, filepath.Join(dir, name), content)
		return filepath.Join(dir, name)
	}
	good, other, stale := certify(t, 1, time.Now().Add(time.Hour)), certify(t, 2, time.Now().Add(time.Hour)), certify(t, 3, time.Now().Add(-time.Hour))
	cert, key := file("cert.pem", good.cert), file("key.pem", good.key)
	for name, row := range map[string]struct {
		flags []string
		want  string
	}{
		"no key":           {[]string{"--tls.cert", cert}, "set tls.key"},
		"no certificate":   {[]string{"--tls.key", key}, "set tls.cert"},
		"missing":          {[]string{"--tls.cert", filepath.Join(dir, "nowhere"), "--tls.key", key}, "no such file"},
		"another's key":    {[]string{"--tls.cert", cert, "--tls.key", file("other.pem", other.key)}, "no pair of PEM files"},
		"not PEM":          {[]string{"--tls.cert", file("text.pem", []byte("text")), "--tls.key", key}, "no pair of PEM files"},
		"expired":          {[]string{"--tls.cert", file("stale.pem", stale.cert), "--tls.key", file("stalekey.pem", stale.key)}, "has expired"},
		"the other way up": {[]string{"--tls.cert", key, "--tls.key", cert}, "no pair of PEM files"},
	} {
		p, err := spawn(nil, binary(), append([]string{"serve", "--listen", "127.0.0.1:0"}, row.flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		if code := p.exit(t); code == 0 || !strings.Contains(p.stderr.String(), row.want) {
			t.Errorf("%s: exit %d:\n%s", name, code, p.stderr)
		}
		p.kill()
	}
}
