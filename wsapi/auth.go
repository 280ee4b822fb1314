package wsapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"turnlog/httpapi/problem"
	"turnlog/identity"
	"turnlog/session"
)

// Authenticator decides who a handshake and a token come from; see
// identity.Authenticator. An error that is none of package identity is answered like
// identity.ErrUnavailable and logged.
type Authenticator interface {
	Authenticate(ctx context.Context, r *http.Request) (identity.Identity, error)
	Verify(ctx context.Context, token string) (identity.Identity, error)
}

const subprotocol = "turnlog.v1"

// refuse answers a handshake from nobody known. Why a token was refused is not told.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, identity.ErrBadUser):
		s.deny(w, r, denied{http.StatusUnauthorized, problem.CodeUnauthorized, identity.ErrBadUser.Error(), 0})
	case errors.Is(err, identity.ErrUnauthorized):
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.deny(w, r, denied{http.StatusUnauthorized, problem.CodeUnauthorized, identity.ErrUnauthorized.Error(), 0})
	case errors.Is(err, identity.ErrForbidden):
		s.deny(w, r, denied{http.StatusForbidden, problem.CodeForbidden, identity.ErrForbidden.Error(), 0})
	default:
		if !errors.Is(err, identity.ErrUnavailable) { // that one was logged where it arose
			s.log.Warn("authentication is not available", "error", err)
		}
		s.deny(w, r, denied{http.StatusServiceUnavailable, session.CodeUnavailable, identity.ErrUnavailable.Error(), retryAfter})
	}
}

// reauth lets a connection live on by a newer token of the same user. Whatever is wrong
// with the token, the connection stays what it was.
func (c *conn) reauth(fields map[string]json.RawMessage) {
	f := form{fields: fields}
	request := f.requestID()
	token := f.required("token")
	if f.bad() {
		c.invalidMessage("the frame reauth is not valid: " + string(f.details.end()))
		return
	}
	if !c.srv.opts.Limits.Allow(c.who.User) {
		c.notReauthenticated(session.CodeRateLimited, errTooFast.Message, true, request)
		return
	}
	who, err := c.srv.auth.Verify(c.ctx, token)
	switch {
	case err == nil && who.User == c.who.User:
		c.pulse.extend(who.Expires)
		c.send(withRequest(c.pulse.until(object(nil).text("message", "Reauthenticated")), request))
	case err == nil || errors.Is(err, identity.ErrUnauthorized) || errors.Is(err, identity.ErrForbidden):
		c.notReauthenticated(problem.CodeUnauthorized, "the token is not valid for this connection", false, request)
	default:
		if !errors.Is(err, identity.ErrUnavailable) && c.ctx.Err() == nil {
			c.log.Warn("authentication is not available", "error", err)
		}
		c.notReauthenticated(session.CodeUnavailable, identity.ErrUnavailable.Error(), true, request)
	}
}

func (c *conn) notReauthenticated(code, message string, retryable bool, request json.RawMessage) {
	c.srv.opts.Metrics.Refused(code)
	o := object(nil).text("error", code).text("code", code).text("message", message)
	if retryable {
		o = o.flag("retryable", true)
	}
	c.send(withRequest(o, request))
}

// never is an expiry that does not come.
const never = 0

// expireAt sets the expiry of a new connection; the zero time is never.
func (p *pulse) expireAt(t time.Time) {
	if t.IsZero() {
		p.expires.Store(never)
		return
	}
	p.expires.Store(t.UnixNano())
}

// extend puts the expiry off. It never brings it nearer, so that tokens that arrive in
// another order than they were made do no harm.
func (p *pulse) extend(t time.Time) {
	if now := p.expires.Load(); now != never && (t.IsZero() || t.UnixNano() > now) {
		p.expireAt(t)
	}
}

// expired reports whether the last token has expired, by the wall clock that tokens go by.
func (p *pulse) expired(now time.Time) bool {
	at := p.expires.Load()
	return at != never && now.UnixNano() > at
}

// until adds when the connection expires; null is never.
func (p *pulse) until(o object) object {
	at := p.expires.Load()
	if at == never {
		return o.null("expires_at")
	}
	return o.time("expires_at", time.Unix(0, at))
}
