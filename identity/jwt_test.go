package identity_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"turnlog/identity"
)

// everyKey accepts all kinds of keys: the strictest rules must hold among them.
func everyKey(t testing.TB, o identity.Options) *identity.JWT {
	p := pairs()
	o.Secret = []byte(secret)
	o.KeyFiles = []string{keyFile(t, &p.rsa.PublicKey, &p.ec.PublicKey), keyFile(t, p.ed.Public())}
	return newJWT(t, o)
}

func TestB101_GoodTokensNameTheirUser(t *testing.T) {
	p := pairs()
	j := everyKey(t, identity.Options{Leeway: 20 * time.Second})
	exp := time.Now().Add(time.Hour).Truncate(time.Second)
	for name, token := range map[string]string{
		"HS256":             sign(t, jwt.SigningMethodHS256, []byte(secret), good(nil), nil),
		"RS256":             sign(t, jwt.SigningMethodRS256, p.rsa, good(nil), nil),
		"ES256":             sign(t, jwt.SigningMethodES256, p.ec, good(nil), nil),
		"EdDSA":             sign(t, jwt.SigningMethodEdDSA, p.ed, good(nil), nil),
		"any kid of a file": sign(t, jwt.SigningMethodES256, p.ec, good(nil), object{"kid": "2026"}),
		"several audiences": sign(t, jwt.SigningMethodES256, p.ec, good(object{"aud": []string{"other", "turnlog"}}), nil),
		"within the leeway": sign(t, jwt.SigningMethodES256, p.ec, good(object{"nbf": time.Now().Add(10 * time.Second).Unix()}), nil),
		"null is absent":    signText(t, `{"alg":"HS256","kid":null}`, claimsText(t, `"nbf":null`)),
	} {
		t.Run(name, func(t *testing.T) {
			who, err := j.Verify(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			if late := who.Expires.Sub(exp) - 20*time.Second; who.User != "ann" || late < -2*time.Second || late > 2*time.Second {
				t.Errorf("%+v", who)
			}
		})
	}
}

// claimsText writes good claims with more members behind.
func claimsText(t testing.TB, more string) string {
	t.Helper()
	b, err := json.Marshal(good(nil))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(b), "}") + "," + more + "}"
}

func TestB101_BadTokensAreRefusedWithoutSayingWhy(t *testing.T) {
	p := pairs()
	pemText := pemOf(t, &p.rsa.PublicKey)
	der, _ := x509.MarshalPKIXPublicKey(&p.rsa.PublicKey)
	hs := func(claims object) string { return sign(t, jwt.SigningMethodHS256, []byte(secret), claims, nil) }
	fine := hs(good(nil))
	parts := strings.Split(fine, ".")
	none := func(alg string) string {
		return b64([]byte(`{"alg":"`+alg+`","typ":"JWT"}`)) + "." + parts[1] + "."
	}
	now := time.Now().Unix()
	hs512 := sign(t, jwt.SigningMethodHS512, []byte(secret), good(nil), nil)
	self := object{"jwk": jwk("mine", &p.rsa2.PublicKey, nil), "kid": "mine", "jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1/cert"}

	for name, row := range map[string]struct{ token, reason string }{
		"none":                             {"", "no_token"},
		"garbage":                          {"garbage", "malformed"},
		"garbage in three parts":           {"a.b.c", "malformed"},
		"four parts":                       {fine + ".x", "malformed"},
		"too long":                         {fine + strings.Repeat("A", 8<<10), "too_long"},
		"other secret":                     {sign(t, jwt.SigningMethodHS256, []byte("another secret of more than 32 bytes"), good(nil), nil), "signature"},
		"no signature":                     {parts[0] + "." + parts[1] + ".", "signature"},
		"changed claims":                   {parts[0] + "." + b64([]byte(claimsText(t, `"x":1`))) + "." + parts[2], "signature"},
		"padding":                          {fine + "=", "malformed"},
		"RSA key of somebody else":         {sign(t, jwt.SigningMethodRS256, p.rsa2, good(nil), nil), "signature"},
		"alg none":                         {none("none"), "algorithm"},
		"alg None":                         {none("None"), "algorithm"},
		"alg NONE":                         {none("NONE"), "algorithm"},
		"alg nOnE":                         {none("nOnE"), "algorithm"},
		"alg none with a signature":        {none("none") + parts[2], "algorithm"},
		"alg empty":                        {none(""), "algorithm"},
		"alg missing":                      {signText(t, `{"typ":"JWT"}`, claimsText(t, `"x":1`)), "algorithm"},
		"alg a number":                     {signText(t, `{"alg":256}`, claimsText(t, `"x":1`)), "algorithm"},
		"alg a list":                       {signText(t, `{"alg":["HS256"]}`, claimsText(t, `"x":1`)), "algorithm"},
		"Alg beside alg":                   {signText(t, `{"Alg":"HS256"}`, claimsText(t, `"x":1`)), "algorithm"},
		"alg twice":                        {signText(t, `{"alg":"RS256","alg":"HS256"}`, claimsText(t, `"x":1`)), "malformed"},
		"HS512 of the same secret":         {hs512, "algorithm"},
		"RS512":                            {sign(t, jwt.SigningMethodRS512, p.rsa, good(nil), nil), "algorithm"},
		"PS256":                            {sign(t, jwt.SigningMethodPS256, p.rsa, good(nil), nil), "algorithm"},
		"ES384":                            {sign(t, jwt.SigningMethodES384, p.ec384, good(nil), nil), "algorithm"},
		"HS256 with the public key as PEM": {sign(t, jwt.SigningMethodHS256, pemText, good(nil), nil), "signature"},
		"HS256 with it trimmed":            {sign(t, jwt.SigningMethodHS256, bytes.TrimSpace(pemText), good(nil), nil), "signature"},
		"HS256 with it as DER":             {sign(t, jwt.SigningMethodHS256, der, good(nil), nil), "signature"},
		"RS256 header on an HS256 token":   {b64([]byte(`{"alg":"RS256"}`)) + "." + parts[1] + "." + parts[2], "signature"},
		"its own key in the header":        {sign(t, jwt.SigningMethodRS256, p.rsa2, good(nil), self), "signature"},
		"crit":                             {sign(t, jwt.SigningMethodHS256, []byte(secret), good(nil), object{"crit": []string{"exp"}}), "critical"},
		"crit empty":                       {sign(t, jwt.SigningMethodHS256, []byte(secret), good(nil), object{"crit": []string{}}), "critical"},
		"kid a number":                     {sign(t, jwt.SigningMethodHS256, []byte(secret), good(nil), object{"kid": 1}), "malformed"},
		"wrong aud":                        {hs(good(object{"aud": "other"})), "audience"},
		"wrong auds":                       {hs(good(object{"aud": []string{"a", "b"}})), "audience"},
		"no aud":                           {hs(good(object{"aud": nil})), "claims"},
		"aud a number":                     {hs(good(object{"aud": 1})), "claims"},
		"wrong iss":                        {hs(good(object{"iss": "https://other.example"})), "issuer"},
		"iss with a slash":                 {hs(good(object{"iss": "https://issuer.example/"})), "issuer"},
		"no iss":                           {hs(good(object{"iss": nil})), "claims"},
		"iss a list":                       {hs(good(object{"iss": []string{"https://issuer.example"}})), "claims"},
		"expired":                          {hs(good(object{"exp": now - 2})), "expired"},
		"no exp":                           {hs(good(object{"exp": nil})), "claims"},
		"exp a string":                     {hs(good(object{"exp": fmt.Sprint(now + 60)})), "claims"},
		"exp beyond all time":              {hs(good(object{"exp": 1e300})), "claims"},
		"exp negative":                     {hs(good(object{"exp": -1})), "claims"},
		"nbf in the future":                {hs(good(object{"nbf": now + 60})), "not_yet_valid"},
		"iat in the future":                {hs(good(object{"iat": now + 60})), "not_yet_valid"},
		"no sub":                           {hs(good(object{"sub": nil})), "subject"},
		"sub empty":                        {hs(good(object{"sub": ""})), "subject"},
		"sub a number":                     {hs(good(object{"sub": 7})), "subject"},
		"sub too long":                     {hs(good(object{"sub": strings.Repeat("x", 257)})), "subject"},
		"sub too long when escaped":        {hs(good(object{"sub": strings.Repeat("ä", 50)})), "subject"},
		"sub no character":                 {signText(t, `{"alg":"HS256"}`, strings.Replace(claimsText(t, `"x":1`), `"ann"`, `"\ud800"`, 1)), "subject"},
		"sub no UTF-8":                     {signText(t, `{"alg":"HS256"}`, strings.Replace(claimsText(t, `"x":1`), `"ann"`, "\"a\xff\"", 1)), "malformed"},
		"sub twice":                        {signText(t, `{"alg":"HS256"}`, claimsText(t, `"sub":"bob"`)), "malformed"},
		"exp twice":                        {signText(t, `{"alg":"HS256"}`, claimsText(t, `"exp":9999999999`)), "malformed"},
		"SUB for sub":                      {signText(t, `{"alg":"HS256"}`, strings.Replace(claimsText(t, `"x":1`), `"sub"`, `"SUB"`, 1)), "subject"},
		"claims a list":                    {signText(t, `{"alg":"HS256"}`, `[]`), "malformed"},
		"claims null":                      {signText(t, `{"alg":"HS256"}`, `null`), "claims"},
		"claims with something behind":     {signText(t, `{"alg":"HS256"}`, claimsText(t, `"x":1`)+"{}"), "malformed"},
		"scope a number":                   {hs(good(object{"scope": 1})), "claims"},
		"scopes of numbers":                {hs(good(object{"scopes": []int{1}})), "claims"},
	} {
		t.Run(name, func(t *testing.T) {
			var log noted
			met := &counts{}
			j := everyKey(t, identity.Options{Metrics: met, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			who, err := j.Verify(t.Context(), row.token)
			if !reflect.DeepEqual(who, identity.Identity{}) || !errors.Is(err, identity.ErrUnauthorized) {
				t.Fatalf("%+v, %v", who, err)
			}
			if err.Error() != identity.ErrUnauthorized.Error() {
				t.Errorf("says %q", err)
			}
			if met.last() != row.reason {
				t.Errorf("refused for %q, want %q", met.last(), row.reason)
			}
			for _, part := range strings.Split(row.token, ".") {
				if len(part) > 8 && strings.Contains(log.String(), part[:8]) {
					t.Errorf("the log has a part of the token:\n%s", &log)
				}
			}
			if !strings.Contains(log.String(), row.reason) {
				t.Errorf("the log does not say %q", row.reason)
			}
		})
	}
}

func TestB101_AKeyIsNotTriedForAnotherAlgorithm(t *testing.T) {
	p := pairs()
	met := &counts{}
	j := newJWT(t, identity.Options{KeyFiles: []string{keyFile(t, &p.rsa.PublicKey)}, Metrics: met})
	for _, token := range []string{
		sign(t, jwt.SigningMethodHS256, pemOf(t, &p.rsa.PublicKey), good(nil), nil), sign(t, jwt.SigningMethodES256, p.ec, good(nil), nil),
	} {
		if _, err := j.Verify(t.Context(), token); !errors.Is(err, identity.ErrUnauthorized) || met.last() != "unknown_key" {
			t.Errorf("%v, %s", err, met.last())
		}
	}
}

func TestB101_ScopesComeAsTextOrList(t *testing.T) {
	j := everyKey(t, identity.Options{})
	for name, claims := range map[string]object{
		"scope":  {"scope": "chat turnlog:admin"},
		"scp":    {"scp": []string{"chat", "turnlog:admin"}},
		"scp 2":  {"scp": "chat turnlog:admin"},
		"scopes": {"scopes": []string{"chat", "turnlog:admin"}},
		"both":   {"scope": "chat", "scp": []string{"turnlog:admin"}},
	} {
		who, err := j.Verify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(secret), good(claims), nil))
		if err != nil || !who.Has("chat") || !who.Has(identity.ScopeAdmin) || who.Has("turnlog") || who.Has("") {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	who, err := j.Verify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(secret), good(object{"scope": "turnlog:administrator"}), nil))
	if err != nil || who.Has(identity.ScopeAdmin) {
		t.Errorf("%+v, %v", who, err)
	}
}

func TestB101_AuthenticateFindsTheToken(t *testing.T) {
	j := everyKey(t, identity.Options{})
	r, _ := http.NewRequest(http.MethodGet, "http://h/ws?token="+sign(t, jwt.SigningMethodHS256, []byte(secret), good(nil), nil), nil)
	if who, err := j.Authenticate(t.Context(), r); err != nil || who.User != "ann" {
		t.Errorf("%+v, %v", who, err)
	}
	r.Header.Set("Authorization", "Bearer "+sign(t, jwt.SigningMethodHS256, []byte(secret), good(object{"sub": "bob"}), nil))
	if who, err := j.Authenticate(t.Context(), r); !errors.Is(err, identity.ErrUnauthorized) {
		t.Errorf("two tokens: %+v, %v", who, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	p := pairs()
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})
	for name, row := range map[string]struct {
		o    identity.Options
		want string
	}{
		"nothing":           {identity.Options{}, "Secret"},
		"short secret":      {identity.Options{Secret: []byte("short")}, "32 bytes"},
		"http":              {identity.Options{JWKSURL: "http://issuer.example/keys"}, "https"},
		"http in disguise":  {identity.Options{JWKSURL: "http://127.0.0.1@issuer.example/keys"}, "https"},
		"http in disguise2": {identity.Options{JWKSURL: "http://127.0.0.1.issuer.example/keys"}, "https"},
		"file":              {identity.Options{JWKSURL: "file:///etc/passwd"}, "URL"},
		"no such file":      {identity.Options{KeyFiles: []string{"/nowhere.pem"}}, "/nowhere.pem"},
		"no PEM":            {identity.Options{KeyFiles: []string{write(t, []byte("hello"))}}, "PEM"},
		"private key":       {identity.Options{KeyFiles: []string{write(t, private)}}, "private"},
		"other curve":       {identity.Options{KeyFiles: []string{keyFile(t, &p.ec384.PublicKey)}}, "P-256"},
		"huge file":         {identity.Options{KeyFiles: []string{write(t, bytes.Repeat([]byte("x"), 65<<10))}}, "64 KiB"},
	} {
		if _, err := identity.NewJWT(row.o); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMintedTokensAreBelieved(t *testing.T) {
	j := newJWT(t, identity.Options{Secret: []byte(secret)})
	now := time.Now()
	g := identity.Grant{User: "ann", Scopes: []string{"a", "b"}, Issuer: "https://issuer.example", Audience: "turnlog", Issued: now, Expires: now.Add(time.Minute)}
	token, err := identity.Mint([]byte(secret), g)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := j.Verify(t.Context(), token); err != nil || who.User != "ann" || !who.Has("a") || !who.Has("b") || who.Expires.Unix() != now.Add(time.Minute).Unix() {
		t.Errorf("%+v, %v", who, err)
	}
	g.User = strings.Repeat("x", 300)
	if _, err := identity.Mint([]byte(secret), g); err == nil {
		t.Error("a user that nobody can be")
	}
	if _, err := identity.Mint([]byte("short"), g); err == nil {
		t.Error("a short secret")
	}
}
