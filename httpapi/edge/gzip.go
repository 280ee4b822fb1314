package edge

import (
	"bytes"
	"compress/gzip"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// smallest is the size from which compressing an answer saves more than it costs.
const smallest = 1 << 10

// compress returns a writer that packs JSON answers when the client takes gzip.
// Its close must be called after the answer was written.
func compress(w http.ResponseWriter, r *http.Request) *packer {
	p := &packer{ResponseWriter: w}
	if r.Method == http.MethodHead || r.Header.Get("Upgrade") != "" || r.Header.Get("Range") != "" || !takesGzip(r.Header.Values("Accept-Encoding")) {
		p.plain = true
	}
	return p
}

// takesGzip reads Accept-Encoding.
func takesGzip(lines []string) bool {
	for name := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		name, params, _ := strings.Cut(name, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") && name != "*" {
			continue
		}
		key, value, _ := strings.Cut(params, "=")
		if !strings.EqualFold(strings.TrimSpace(key), "q") {
			return true
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return err == nil && q > 0
	}
	return false
}

// packer holds an answer back until it is known whether it is worth packing.
type packer struct {
	http.ResponseWriter
	plain  bool // decided: as it is
	status int  // held back
	held   bytes.Buffer
	gz     *gzip.Writer // decided: packed
}

var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// WriteHeader implements http.ResponseWriter.
func (p *packer) WriteHeader(status int) {
	switch {
	case p.status != 0:
		return
	case status < 200 && status != http.StatusSwitchingProtocols:
		p.ResponseWriter.WriteHeader(status)
		return
	}
	p.status = status
	if !p.plain && !p.packable() {
		p.plain = true
	}
	if p.plain {
		p.ResponseWriter.WriteHeader(status)
	}
}

// packable reports whether the answer may be packed, whatever its size.
func (p *packer) packable() bool {
	h := p.Header()
	if p.status < 200 || p.status == http.StatusNoContent || p.status == http.StatusNotModified || h.Get("Content-Encoding") != "" {
		return false
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return false
	}
	h.Add("Vary", "Accept-Encoding")
	return true
}

// Write implements http.ResponseWriter.
func (p *packer) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.WriteHeader(http.StatusOK)
	}
	switch {
	case p.plain:
		return p.ResponseWriter.Write(b)
	case p.gz != nil:
		return p.gz.Write(b)
	}
	p.held.Write(b)
	if p.held.Len() >= smallest {
		if err := p.pack(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// pack begins a packed answer with what was held back.
func (p *packer) pack() error {
	h := p.Header()
	h.Set("Content-Encoding", "gzip")
	h.Del("Content-Length")
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		h.Set("ETag", "W/"+tag)
	}
	p.ResponseWriter.WriteHeader(p.status)
	p.gz = writers.Get().(*gzip.Writer)
	p.gz.Reset(p.ResponseWriter)
	_, err := p.gz.Write(p.held.Bytes())
	p.held = bytes.Buffer{}
	return err
}

// FlushError implements what http.ResponseController looks for: what was written
// so far goes out.
func (p *packer) FlushError() error {
	if p.status == 0 {
		p.WriteHeader(http.StatusOK)
	}
	if err := p.release(); err != nil {
		return err
	}
	if p.gz != nil {
		if err := p.gz.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// release sends a small answer as it is.
func (p *packer) release() error {
	if p.plain || p.gz != nil || p.status == 0 {
		return nil
	}
	p.plain = true
	p.ResponseWriter.WriteHeader(p.status)
	_, err := p.ResponseWriter.Write(p.held.Bytes())
	return err
}

// close ends the answer.
func (p *packer) close() {
	_ = p.release() // the client went away; nobody is left to tell
	if p.gz != nil {
		_ = p.gz.Close()
		p.gz.Reset(nil)
		writers.Put(p.gz)
		p.gz = nil
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (p *packer) Unwrap() http.ResponseWriter { return p.ResponseWriter }
