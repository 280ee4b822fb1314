package identity_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestB100_TheEdgesMakeNoThreadsThemselves reads the source of the packages that face
// clients: an eventlog.Thread that is made anywhere but in Identity.Thread could name
// somebody else's.
func TestB100_TheEdgesMakeNoThreadsThemselves(t *testing.T) {
	files := 0
	for _, edge := range []string{"../wsapi", "../httpapi", "../line"} {
		err := filepath.WalkDir(edge, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files++
			for _, at := range madeThreads(file) {
				t.Errorf("%s makes an eventlog.Thread; use identity.Identity.Thread", set.Position(at))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 20 {
		t.Errorf("only %d files were read", files)
	}
}

func TestMadeThreadsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		`_ = eventlog.Thread{User: u}`:                                         1,
		`_ = &eventlog.Thread{}`:                                               1,
		`_ = []eventlog.Thread{{User: u}, {}}`:                                 2,
		`_ = map[string]eventlog.Thread{"a": {User: u}}`:                       1,
		`_ = []*eventlog.Thread{{User: u}}`:                                    1,
		`_ = eventlog.Thread(x)`:                                               1,
		`_ = new(eventlog.Thread)`:                                             1,
		`var t eventlog.Thread; t.User = u`:                                    1,
		`t := who.Thread(id); t.User = u`:                                      1,
		`_ = []eventlog.Thread{who.Thread(id)}; f(session.Submit{Thread: th})`: 0,
		`_ = eventlog.Attach{Thread: who.Thread(id)}`:                          0,
	} {
		source := "package p\nimport \"turnlog/eventlog\"\nfunc f() { " + body + " }\n"
		for _, text := range []string{source, strings.NewReplacer(`import "`, `import log "`, "eventlog.T", "log.T", "eventlog.A", "log.A").Replace(source)} {
			file, err := parser.ParseFile(token.NewFileSet(), "f.go", text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if got := madeThreads(file); len(got) != want {
				t.Errorf("%s: found %d", text, len(got))
			}
		}
	}
}

// madeThreads returns where a file makes an eventlog.Thread, or changes whose one it is.
func madeThreads(file *ast.File) (at []token.Pos) {
	name := importedAs(file, "turnlog/eventlog")
	if name == "" {
		return nil
	}
	is := func(e ast.Expr) bool {
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		s, ok := e.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "Thread" {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == name
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if is(n.Type) {
				at = append(at, n.Pos())
			}
			if is(element(n.Type)) {
				at = append(at, elided(n)...)
			}
		case *ast.CallExpr:
			made, _ := n.Fun.(*ast.Ident)
			if is(n.Fun) || (made != nil && made.Name == "new" && len(n.Args) == 1 && is(n.Args[0])) {
				at = append(at, n.Pos())
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if s, ok := left.(*ast.SelectorExpr); ok && s.Sel.Name == "User" {
					at = append(at, left.Pos())
				}
			}
		}
		return true
	})
	return at
}

// importedAs is the name of a package in a file, "" when it is not imported.
func importedAs(file *ast.File, path string) string {
	for _, i := range file.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); p == path {
			if i.Name != nil {
				return i.Name.Name
			}
			return p[strings.LastIndexByte(p, '/')+1:]
		}
	}
	return ""
}

func element(t ast.Expr) ast.Expr {
	switch t := t.(type) {
	case *ast.ArrayType:
		return t.Elt
	case *ast.MapType:
		return t.Value
	}
	return nil
}

// elided returns the elements of a literal that leave their type out.
func elided(list *ast.CompositeLit) (at []token.Pos) {
	for _, e := range list.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if c, ok := e.(*ast.CompositeLit); ok && c.Type == nil {
			at = append(at, c.Pos())
		}
	}
	return at
}
