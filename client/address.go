package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// addresses are where the server is: its WebSocket, and what /v1 comes behind. http(s)
// becomes ws(s), the path defaults to /ws.
func addresses(raw string, o Options) (socket, api string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", fmt.Errorf("server url: %w", err)
	}
	secure := ""
	switch u.Scheme {
	case "ws", "http":
	case "wss", "https":
		secure = "s"
	default:
		return "", "", fmt.Errorf("server url %q: want ws://host:port/ws or wss://", raw)
	}
	if u.Host == "" {
		return "", "", fmt.Errorf("server url %q: host is missing", raw)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/ws"
	}
	api = strings.TrimSuffix(o.HTTPURL, "/")
	switch {
	case api == "":
		api = "http" + secure + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "/ws"), "/")
	case !strings.HasPrefix(api, "http://") && !strings.HasPrefix(api, "https://"):
		return "", "", fmt.Errorf("options: HTTPURL %q: want http://host:port or https://", o.HTTPURL)
	}
	q := u.Query()
	if o.User != "" {
		q.Set("user", o.User)
	}
	if !q.Has("batch") {
		q.Set("batch", "1")
	}
	u.Scheme, u.RawQuery = "ws"+secure, q.Encode()
	return u.String(), api, nil
}

// requestHeader is what every request to the server carries.
func requestHeader(o Options, token string) http.Header {
	header := http.Header{}
	if o.Header != nil {
		header = o.Header.Clone()
	}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return header
}
