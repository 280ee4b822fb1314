package openapitest

import (
	"bytes"
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is an OpenAPI document as it is served. OpenAPI 3.1 schemas are JSON
// Schema 2020-12, so they can be taken as they are.
type Document struct {
	root     map[string]any
	prefix   string
	anywhere []int
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
	answered map[string]bool // operations that succeeded, by method and path
}

// Answer is what a call was answered.
type Answer struct {
	Status int
	Header http.Header
	Text   []byte
}

// Parse reads a document that describes everything below prefix, like /v1/. What it does
// not describe may be answered 404, 405, or one of anywhere.
func Parse(t testing.TB, text []byte, prefix string, anywhere ...int) *Document {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := &Document{
		root: parsed.(map[string]any), prefix: prefix, anywhere: append(anywhere, 404, 405), compiler: jsonschema.NewCompiler(),
		schemas: make(map[string]*jsonschema.Schema), answered: make(map[string]bool),
	}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("mem:openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	return d
}

// Answered reports whether an operation, like "GET /v1/turns", was checked with an answer that tells success.
func (d *Document) Answered(operation string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answered[operation]
}

// Operations lists what is described, like "GET /v1/turns", in order.
func (d *Document) Operations() []string {
	var described []string
	for path, item := range d.root["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(described)
	return described
}

// resolve follows a pointer, and a reference behind it.
func (d *Document) resolve(pointer string) (map[string]any, string) {
	for {
		var at any = d.root
		for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
			m, _ := at.(map[string]any)
			at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
		m, _ := at.(map[string]any)
		ref, ok := m["$ref"].(string)
		if !ok || m == nil {
			return m, pointer
		}
		pointer = strings.TrimPrefix(ref, "#")
	}
}

func (d *Document) validate(t testing.TB, pointer string, v any) error {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.schemas[pointer]
	if s == nil {
		var err error
		if s, err = d.compiler.Compile("mem:openapi.json#" + (&url.URL{Path: pointer}).EscapedPath()); err != nil {
			t.Fatalf("schema %s: %v", pointer, err)
		}
		d.schemas[pointer] = s
	}
	return s.Validate(v)
}

func escapePointer(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// template finds the path of the document that a request goes to; "" = none.
func (d *Document) template(escaped string) string {
	segments := strings.Split(escaped, "/")
	for _, path := range slices.Sorted(maps.Keys(d.root["paths"].(map[string]any))) { // literal segments sort before {
		parts := strings.Split(path, "/")
		if len(parts) == len(segments) {
			fits := true
			for i := range parts {
				fits = fits && (parts[i] == segments[i] || strings.HasPrefix(parts[i], "{") && segments[i] != "")
			}
			if fits {
				return path
			}
		}
	}
	return ""
}

// Check holds one request and its answer against the document.
func (d *Document) Check(t testing.TB, req *http.Request, body string, a Answer) {
	t.Helper()
	if !strings.HasPrefix(req.URL.Path, d.prefix) {
		return
	}
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s %.120s does not fit the OpenAPI document: "+format, append([]any{req.Method, req.URL.EscapedPath()}, args...)...)
	}
	if a.Header.Get("X-Request-Id") == "" || a.Header.Get("Cache-Control") != "no-store" {
		wrong("X-Request-Id %q, Cache-Control %q", a.Header.Get("X-Request-Id"), a.Header.Get("Cache-Control"))
	}
	method := strings.ToLower(req.Method)
	if method == "head" {
		method = "get"
	}
	path := d.template(req.URL.EscapedPath())
	pointer := "/paths/" + escapePointer(path) + "/" + method
	operation, _ := d.resolve(pointer)
	answerAt, described := "", false
	if operation != nil {
		var response map[string]any
		response, answerAt = d.resolve(pointer + "/responses/" + strconv.Itoa(a.Status))
		if described = response != nil; !described {
			wrong("status %d is not described", a.Status)
			return
		}
		headers, _ := response["headers"].(map[string]any)
		for _, name := range []string{"Location", "Retry-After", "WWW-Authenticate", "Allow"} {
			if a.Header.Get(name) != "" && headers[name] == nil && !(name == "Allow" && req.Method == "HEAD") {
				wrong("header %s is not described for %d", name, a.Status)
			}
		}
	} else if !slices.Contains(d.anywhere, a.Status) {
		wrong("status %d of something that is not described", a.Status)
	}
	if a.Status < 300 && operation != nil {
		d.mu.Lock()
		d.answered[req.Method+" "+path] = true
		d.mu.Unlock()
		d.checkRequest(t, pointer, path, operation, req, body, wrong)
	}
	if req.Method == "HEAD" || a.Status == 204 {
		if len(a.Text) > 0 {
			wrong("a body of %d bytes", len(a.Text))
		}
		return
	}
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		wrong("Content-Type: %v", err)
		return
	}
	schema := "/components/schemas/Problem"
	if described {
		schema = answerAt + "/content/" + escapePointer(media) + "/schema"
		if s, _ := d.resolve(answerAt + "/content/" + escapePointer(media)); s == nil {
			wrong("media type %s is not described for %d", media, a.Status)
			return
		}
	}
	if media == "text/event-stream" {
		return
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Text))
	if err == nil {
		err = d.validate(t, schema, parsed)
	}
	if err != nil {
		wrong("%v in %s", err, a.Text)
	}
	if p, _ := parsed.(map[string]any); a.Status >= 400 && (p["request_id"] != a.Header.Get("X-Request-Id") || p["status"] != json.Number(strconv.Itoa(a.Status))) {
		wrong("the problem %s of request %s", a.Text, a.Header.Get("X-Request-Id"))
	}
}

// checkRequest holds a request that succeeded against the document: what is
// accepted should be described.
func (d *Document) checkRequest(t testing.TB, pointer, path string, operation map[string]any, req *http.Request, body string, wrong func(string, ...any)) {
	t.Helper()
	if body != "" {
		media, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
		at := pointer + "/requestBody/content/" + escapePointer(media)
		if c, _ := d.resolve(at); c == nil {
			wrong("a body of type %s is not described", media)
			return
		}
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err == nil {
			err = d.validate(t, at+"/schema", parsed)
		}
		if err != nil {
			wrong("request %s: %v", body, err)
		}
	} else if b, _ := operation["requestBody"].(map[string]any); b["required"] == true {
		wrong("a body is required")
	}
	known := map[string]string{"user": ""}
	for _, owner := range []string{pointer, "/paths/" + escapePointer(path)} {
		list, _ := d.resolve(owner)
		params, _ := list["parameters"].([]any)
		for _, p := range params {
			param, at := d.resolve(strings.TrimPrefix(p.(map[string]any)["$ref"].(string), "#"))
			if param["in"] == "query" {
				known[param["name"].(string)] = at + "/schema"
			}
		}
	}
	for name, values := range req.URL.Query() {
		schema, ok := known[name]
		if !ok {
			continue // ignored
		}
		if schema == "" {
			continue
		}
		var value any = values[0]
		if s, _ := d.resolve(schema); s["type"] == "integer" {
			value = json.Number(values[0])
		}
		if err := d.validate(t, schema, value); err != nil {
			wrong("query %s=%s: %v", name, values[0], err)
		}
	}
}

// CheckItself checks that references lead somewhere, operations have names of their own,
// schemas compile, and at least so many examples fit their schemas.
func (d *Document) CheckItself(t testing.TB, leastExamples int) {
	t.Helper()
	if d.root["openapi"] != "3.1.0" {
		t.Fatalf("version %v", d.root["openapi"])
	}
	examples := 0
	ids := make(map[string]string)
	var walk func(pointer string, at any)
	walk = func(pointer string, at any) {
		switch at := at.(type) {
		case []any:
			for i, v := range at {
				walk(pointer+"/"+strconv.Itoa(i), v)
			}
		case map[string]any:
			if ref, ok := at["$ref"].(string); ok {
				if target, _ := d.resolve(strings.TrimPrefix(ref, "#")); target == nil {
					t.Errorf("%s: nothing at %s", pointer, ref)
				}
			}
			if id, ok := at["operationId"].(string); ok {
				if other := ids[id]; other != "" {
					t.Errorf("operation %s at %s and %s", id, pointer, other)
				}
				ids[id] = pointer
			}
			if example, ok := at["example"]; ok {
				examples++
				if err := d.validate(t, pointer+"/schema", example); err != nil {
					t.Errorf("example at %s: %v", pointer, err)
				}
			}
			for k, v := range at {
				if k != "example" {
					walk(pointer+"/"+escapePointer(k), v)
				}
			}
		}
	}
	walk("", d.root)
	for name := range d.root["components"].(map[string]any)["schemas"].(map[string]any) {
		_ = d.validate(t, "/components/schemas/"+name, nil) // it compiles
	}
	if examples < leastExamples {
		t.Errorf("only %d examples", examples)
	}
	if _, ok := d.root["components"].(map[string]any)["securitySchemes"].(map[string]any)["bearer"]; !ok {
		t.Error("no security scheme")
	}
}
