// Package planted finds the places in the product's source where planted bugs are inserted. A test that does not find
// its planted bug proves nothing.
//
// A place is named by its declaration and a pattern, so that a bug keeps its place when its code moves to another line
// or file:
//
//	memory.Backend.claim    the method claim of type Backend in package memory
//	availability.SpanOf     a function; a constant, a variable or a type is named the same way
//	holds/redis/lua/under.lua    a file that is not Go, by its path
//
// The pattern is part of one line, and must occur exactly once in the declaration. In a file that is not Go, it can
// span several lines.
package planted

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bug is one change that breaks the product.
type Bug struct {
	In         string // the declaration or the file, as described in the package comment
	Old, Wrong string // the pattern, and the text that replaces it
}

// Place is the location of a bug: one or more whole lines of a file.
type Place struct {
	File       string // slash-separated, from the root
	Old, Wrong string // the lines, before and after
	at         int    // the offset of Old in the file
}

// Find returns the place of a bug in the tree at root. It fails unless the pattern occurs exactly once.
func (b Bug) Find(root string) (Place, error) {
	if strings.Contains(b.In, "/") {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.In)))
		if err != nil {
			return Place{}, err
		}
		return b.within(b.In, string(text), 0, len(text))
	}
	files, err := filesOf(root, b.In)
	if err != nil {
		return Place{}, err
	}
	var found []Place
	declared := false
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return Place{}, err
		}
		from, to, ok, err := declaration(string(text), b.In)
		if err != nil {
			return Place{}, err
		}
		if !ok {
			continue
		}
		declared = true
		p, err := b.within(name, string(text), from, to)
		if errors.Is(err, errNotThere) {
			continue
		}
		if err != nil {
			return Place{}, err
		}
		found = append(found, p)
	}
	switch {
	case !declared:
		return Place{}, fmt.Errorf("%s is not declared", b.In)
	case len(found) != 1:
		return Place{}, fmt.Errorf("%s has %q %d times, not once", b.In, b.Old, len(found))
	}
	return found[0], nil
}

// Apply returns the contents of the files of these places, by name, with Old replaced by Wrong.
func Apply(root string, places ...Place) (map[string]string, error) {
	places = slices.Clone(places)
	slices.SortFunc(places, func(a, b Place) int { return b.at - a.at }) // from the end, so that the offsets stay valid
	files := map[string]string{}
	for _, p := range places {
		text, isRead := files[p.File]
		if !isRead {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.File)))
			if err != nil {
				return nil, err
			}
			text = string(content)
		}
		if !strings.HasPrefix(text[p.at:], p.Old) {
			return nil, fmt.Errorf("%s: two bugs change the line %q", p.File, p.Old)
		}
		files[p.File] = text[:p.at] + p.Wrong + text[p.at+len(p.Old):]
	}
	return files, nil
}

var errNotThere = errors.New("the pattern does not occur")

// within searches for the pattern between two offsets of a file.
func (b Bug) within(file, text string, from, to int) (Place, error) {
	part := text[from:to]
	switch strings.Count(part, b.Old) {
	case 0:
		return Place{}, fmt.Errorf("%s: %w: %q", b.In, errNotThere, b.Old)
	case 1:
	default:
		return Place{}, fmt.Errorf("%s has %q more than once", b.In, b.Old)
	}
	at := from + strings.Index(part, b.Old)
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	end := at + len(b.Old)
	if rest := strings.IndexByte(text[end:], '\n'); rest >= 0 {
		end += rest
	} else {
		end = len(text)
	}
	line := text[begin:end]
	return Place{File: file, Old: line, Wrong: strings.Replace(line, b.Old, b.Wrong, 1), at: begin}, nil
}

// filesOf lists the Go files, except tests, of the packages whose name is the first part of a declaration's full name.
func filesOf(root, declaration string) (files []string, err error) {
	name, _, _ := strings.Cut(declaration, ".")
	err = fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if base := d.Name(); file != "." && (base[0] == '.' ||
				base == "testdata" || base == "node_modules" || file == "clients") {
				return fs.SkipDir
			}
		case path.Base(path.Dir(file)) == name && path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go"):
			files = append(files, file)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: there is no package %s", declaration, name)
	}
	return files, err
}

// declaration finds the offsets of package.Name or package.Type.Method in a file.
func declaration(text, name string) (from, to int, ok bool, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return 0, 0, false, err
	}
	_, name, _ = strings.Cut(name, ".")
	at := func(n ast.Node) (int, int, bool, error) {
		return set.Position(n.Pos()).Offset, set.Position(n.End()).Offset, true, nil
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if NameOf(d) == name {
				return at(d)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == name {
						return at(s)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.Name == name {
							return at(s)
						}
					}
				}
			}
		}
	}
	return 0, 0, false, nil
}

// NameOf returns the name of a function in the form that a Bug uses, without its package: Func or Type.Method.
func NameOf(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}
