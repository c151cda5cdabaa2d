package main

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// bundles are the files that patients and the desk load. Each is a module together with its imports that are not in
// an earlier bundle of its group. Thirty small files are pleasant to read but slow to load, and each is compressed
// separately. As bundles they are a fifth smaller, and the first times appear sooner. A page loads the bundles of one
// group only, so modules that two groups share are in both.
//
// Nothing is renamed. Each module becomes a function that is called once and returns its exports. The last module of
// a bundle, which names it, is not wrapped, so that it can use await. There are two rules for modules. Name dynamic
// imports from the folder above (import('../lib/…')), because they run from the folder of their bundle. A file that
// is fetched next to the bundles, such as texts or a worker, must import nothing; otherwise it gets a second copy of
// the module.
var bundles = [][]string{
	{"book/common.js", "book/page.js", "book/later.js", "book/choose.js", "book/asks.js", "book/request.js", "book/waiting.js", "manage/page.js"},
	{"staff/page.js", "staff/keep.js", "staff/more.js"},
	{"plan/page.js"},
}

// script is a module that becomes part of a bundle.
type script struct {
	name    string
	bundle  string // the one it is in
	number  int    // its exports are called $number there
	imports []binding
	exports []export
	body    string
}

// binding is one import.
type binding struct {
	from  string
	names []export
	all   bool // export * from
}

// export is a name that other modules import, and the local name of the same value.
type export struct{ name, local string }

var (
	importLine  = regexp.MustCompile(`(?m)(^|[;}])import ?(?:\{([^}]*)\} ?from ?|(\w+) from ?)?['"]([^'"]+)['"];?`)
	exportFrom  = regexp.MustCompile(`(?m)(^|[;}])export ?(?:\{([^}]*)\}|\*) ?from ?['"]([^'"]+)['"];?`)
	exportNames = regexp.MustCompile(`(?m)(^|[;}])export ?\{([^}]*)\};?`)
	exportThis  = regexp.MustCompile(`(?m)(^|[;}])export ((?:const|let|class|function|async function) ([\w$]+))`)
	exportBare  = regexp.MustCompile(`(?m)(^|[;}])export default function`)
	exportLeft  = regexp.MustCompile(`(?m)(^|[;}])(?:export|import)[ {*]`)
	sourceMap   = regexp.MustCompile(`(?m)^//# sourceMappingURL=.*$`)
)

// join replaces each module that a bundle is named after by the bundle. A module that is in a bundle and that no document loads by
// itself is left out.
func join(files map[string][]byte) error {
	alone := make(map[string]bool)
	if err := loaded(files, alone); err != nil {
		return err
	}
	made := make(map[string][]byte)
	var inside []string
	for _, group := range bundles {
		known, err := joinGroup(files, made, group)
		if err != nil {
			return err
		}
		inside = slices.AppendSeq(inside, maps.Keys(known))
	}
	for _, name := range inside {
		if !alone[name] {
			delete(files, name)
		}
	}
	maps.Copy(files, made)
	return nil
}

// joinGroup makes the bundles of one group, and returns the modules in them.
func joinGroup(files, made map[string][]byte, group []string) (map[string]*script, error) {
	known := make(map[string]*script)
	var contents [][]*script
	for _, bundle := range group {
		own, err := collect(files, known, bundle, bundle)
		if err != nil {
			return nil, err
		}
		contents = append(contents, own)
	}
	// The exports that later bundles need, and the imports of each bundle from each other.
	exported, imported := make(map[string][]string), make(map[[2]string][]string)
	for _, own := range contents {
		for _, s := range own {
			for _, b := range s.imports {
				if from := known[b.from]; from.bundle != s.bundle {
					id := fmt.Sprint("$", from.number)
					exported[from.bundle] = append(exported[from.bundle], id)
					imported[[2]string{s.bundle, from.bundle}] = append(imported[[2]string{s.bundle, from.bundle}], id)
				}
			}
		}
	}
	for i, own := range contents {
		bundle := group[i]
		var out strings.Builder
		for _, from := range group[:i] {
			if ids := unique(imported[[2]string{bundle, from}]); len(ids) > 0 {
				fmt.Fprintf(&out, "import{%s}from'../%s'\n", strings.Join(ids, ","), from)
			}
		}
		for _, s := range own {
			if err := s.write(&out, known); err != nil {
				return nil, err
			}
		}
		root := own[len(own)-1]
		if names := append(unique(exported[bundle]), namesIn(root.exports, " as ")...); len(names) > 0 {
			fmt.Fprintf(&out, "export{%s}\n", strings.Join(names, ","))
		}
		made[bundle] = []byte(out.String())
	}
	return known, nil
}

var documentScript = regexp.MustCompile(`<script type="module"[^>]* src="{{base}}/([^"]+)"`)

// loaded marks the modules that documents load and that are no bundle, with all that they import.
func loaded(files map[string][]byte, alone map[string]bool) error {
	var mark func(name string) error
	mark = func(name string) error {
		if alone[name] || slices.ContainsFunc(bundles, func(group []string) bool { return slices.Contains(group, name) }) {
			return nil
		}
		s := &script{name: name}
		if err := s.parse(string(files[name])); err != nil {
			return err
		}
		alone[name] = true
		for _, b := range s.imports {
			if err := mark(b.from); err != nil {
				return err
			}
		}
		return nil
	}
	for name, body := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range documentScript.FindAllSubmatch(body, -1) {
			if err := mark(string(m[1])); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect returns a module and its imports that are not in a bundle yet, each after its own imports.
func collect(files map[string][]byte, known map[string]*script, bundle, name string) ([]*script, error) {
	if s := known[name]; s != nil {
		if s.number == 0 {
			return nil, fmt.Errorf("%s imports itself over others", name)
		}
		if name == s.bundle {
			return nil, fmt.Errorf("%s imports %s, which is a file of its own", bundle, name)
		}
		return nil, nil
	}
	body, found := files[name]
	if !found {
		return nil, fmt.Errorf("%s imports %s, which is not there", bundle, name)
	}
	s := &script{name: name, bundle: bundle}
	known[name] = s
	if err := s.parse(string(body)); err != nil {
		return nil, err
	}
	var order []*script
	for _, b := range s.imports {
		before, err := collect(files, known, bundle, b.from)
		if err != nil {
			return nil, err
		}
		order = append(order, before...)
	}
	last := 0
	for _, other := range known {
		last = max(last, other.number)
	}
	s.number = last + 1
	return append(order, s), nil
}

// parse takes the imports and exports out of a module.
func (s *script) parse(body string) error {
	bind := func(names, from string, all bool) {
		s.imports = append(s.imports, binding{s.resolve(from), namesOf(names), all})
	}
	body = sourceMap.ReplaceAllString(body, "")
	body = replace(importLine, body, func(m []string) string {
		if m[3] != "" {
			m[2] = "default as " + m[3]
		}
		bind(m[2], m[4], false)
		return m[1]
	})
	body = replace(exportFrom, body, func(m []string) string {
		bind(m[2], m[3], m[2] == "")
		for _, e := range namesOf(m[2]) {
			s.exports = append(s.exports, export{e.local, e.local})
		}
		return m[1]
	})
	body = replace(exportNames, body, func(m []string) string {
		for _, e := range namesOf(m[2]) {
			s.exports = append(s.exports, export{e.local, e.name}) // "x as Component": x is the local one here
		}
		return m[1]
	})
	body = replace(exportThis, body, func(m []string) string {
		s.exports = append(s.exports, export{m[3], m[3]})
		return m[1] + m[2]
	})
	body = replace(exportBare, body, func(m []string) string {
		s.exports = append(s.exports, export{"default", "$"})
		return m[1] + "const $=function"
	})
	if left := exportLeft.FindString(body); left != "" {
		return fmt.Errorf("%s has an import or export that cannot be joined, near %q", s.name, left)
	}
	s.body = strings.TrimSpace(body)
	return nil
}

func replace(pattern *regexp.Regexp, in string, with func(match []string) string) string {
	return pattern.ReplaceAllStringFunc(in, func(found string) string { return with(pattern.FindStringSubmatch(found)) })
}

// resolve gives the path of a module that this one names. The libraries are named as in the pages' import maps.
func (s *script) resolve(name string) string {
	if strings.HasPrefix(name, ".") {
		return path.Join(path.Dir(s.name), name)
	}
	return "vendor/" + path.Base(name) + ".js"
}

// namesOf reads "a, b as c".
func namesOf(list string) (names []export) {
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			name, local, other := strings.Cut(item, " as ")
			if !other {
				local = name
			}
			names = append(names, export{name, local})
		}
	}
	return names
}

// write adds the module to its bundle.
func (s *script) write(out *strings.Builder, known map[string]*script) error {
	var head, spread string
	for _, b := range s.imports {
		from := known[b.from]
		if b.all {
			spread += fmt.Sprintf("...$%d,", from.number)
			continue
		}
		for _, n := range b.names {
			if !from.has(n.name, known) {
				return fmt.Errorf("%s imports %s from %s, which does not export it", s.name, n.name, from.name)
			}
		}
		if len(b.names) > 0 {
			head += fmt.Sprintf("const{%s}=$%d\n", strings.Join(namesIn(b.names, ":"), ","), from.number)
		}
	}
	if s.name == s.bundle {
		fmt.Fprintf(out, "%s%s\n", head, s.body)
		return nil
	}
	fmt.Fprintf(out, "const $%d=(()=>{%s%s\nreturn{%s%s}})()\n", s.number, head, s.body, spread, strings.Join(namesIn(s.exports, ":"), ","))
	return nil
}

func (s *script) has(name string, known map[string]*script) bool {
	return slices.ContainsFunc(s.exports, func(e export) bool { return e.name == name }) ||
		slices.ContainsFunc(s.imports, func(b binding) bool { return b.all && known[b.from].has(name, known) })
}

// namesIn writes names for a list: "Component:x" in an object, where the exported name comes first, and "x as Component" in an
// export statement.
func namesIn(exports []export, between string) (list []string) {
	for _, e := range exports {
		switch {
		case e.name == e.local:
			list = append(list, e.name)
		case between == ":":
			list = append(list, e.name+between+e.local)
		default:
			list = append(list, e.local+between+e.name)
		}
	}
	return list
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
