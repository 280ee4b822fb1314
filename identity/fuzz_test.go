package identity_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"turnlog/eventlog"
	"turnlog/identity"
)

// FuzzVerify looks for tokens that do harm, or that are believed and were not signed.
func FuzzVerify(f *testing.F) {
	j := everyKey(f, identity.Options{})
	fine := sign(f, jwt.SigningMethodHS256, []byte(secret), good(nil), nil)
	f.Add(fine)
	f.Add(sign(f, jwt.SigningMethodES256, pairs().ec, good(object{"aud": []string{"turnlog"}, "scp": []string{"x"}}), object{"kid": "1"}))
	f.Add(signText(f, `{"alg":"none"}`, `{"sub":"ann","exp":1e400}`))
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		who, err := j.Verify(t.Context(), token)
		switch {
		case err == nil && token != fine && who.User != "ann":
			t.Errorf("%q is believed: %+v", token, who)
		case err != nil && err.Error() != identity.ErrUnauthorized.Error():
			t.Errorf("%v", err)
		}
	})
}

// FuzzClaims signs whatever claims there are: what is believed must be usable.
func FuzzClaims(f *testing.F) {
	j, err := identity.NewJWT(identity.Options{Secret: []byte(secret)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"alg":"HS256"}`, `{"sub":"ann","exp":9999999999}`)
	f.Add(`{"alg":"HS256","kid":"x"}`, `{"sub":"a\u00e4","exp":9999999999.5,"nbf":1,"iat":0,"scope":"a b","scp":["c"],"aud":["x"]}`)
	f.Add(`{"alg":"HS256","crit":null}`, `{"sub":"a","exp":99999999999999}`)
	f.Fuzz(func(t *testing.T, header, claims string) {
		who, err := j.Verify(t.Context(), signText(t, header, claims))
		if err != nil {
			if !errors.Is(err, identity.ErrUnauthorized) {
				t.Error(err)
			}
			return
		}
		encoded, err := eventlog.EncodeID(who.User)
		if err != nil || !utf8.ValidString(who.User) || who.Expires.IsZero() {
			t.Errorf("%+v: %v", who, err)
		}
		if back, err := eventlog.DecodeID(encoded); err != nil || back != who.User {
			t.Errorf("%q comes back as %q, %v", who.User, back, err)
		}
	})
}

// FuzzToken looks for requests whose token is not one that they carry.
func FuzzToken(f *testing.F) {
	f.Add("Bearer x", "turnlog.v1, bearer.x", "token=x")
	f.Add("bearer", "bearer.,", "token=&api_key=%zz")
	f.Fuzz(func(t *testing.T, authorization, protocols, query string) {
		r := &http.Request{URL: &url.URL{RawQuery: query}, Header: http.Header{"Authorization": {authorization}, "Sec-Websocket-Protocol": {protocols}}}
		token := identity.Token(r)
		if token == "" {
			return
		}
		r.Header.Add("Authorization", "Bearer another "+token)
		if got := identity.Token(r); got != "" {
			t.Errorf("%q is believed beside another one", got)
		}
	})
}
