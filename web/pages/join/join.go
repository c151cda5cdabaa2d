package main

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// bundles are the files that patients and the desk load. Each is a module together with its imports that are not in
// an earlier bundle of its group. Thirty small files are pleasant to read but slow to load, and each is compressed
// separately. As bundles they are a quarter smaller, and the first times appear sooner. A page loads the bundles of
// one group only, so modules that two groups share are in both.
//
// esbuild can also divide modules by itself, but then each set of pages that share a module gets a file. Here the
// order of the group decides: a module is in the first bundle that needs it. That bundle exports to the later ones
// the names that they use.
//
// There are two rules for modules. Name dynamic imports from the folder above (import('../lib/…')), because they run
// from the folder of their bundle. A file that is fetched next to the bundles, such as texts or a worker, must import
// nothing; otherwise it gets a second copy of the module.
var bundles = [][]string{
	{
		"book/common.js", "book/page.js", "book/later.js", "book/choose.js", "book/asks.js", "book/request.js",
		"book/waiting.js", "book/online.js", "book/compare.js", "book/after.js", "manage/page.js",
	},
	{"staff/page.js", "staff/keep.js", "staff/more.js"},
	{"plan/page.js"},
}

func isBundle(name string) bool {
	return slices.ContainsFunc(bundles, func(group []string) bool { return slices.Contains(group, name) })
}

// join replaces each module that a bundle is named after by the minified bundle. It removes the other modules of the
// bundles unless a document loads them by themselves, and minifies those that stay.
func join(files map[string][]byte) error {
	modules, err := readModules(files)
	if err != nil {
		return err
	}
	made := make(map[string][]byte)
	joined := make(map[string]bool)
	for _, names := range bundles {
		g := &group{modules: modules, names: names, home: make(map[string]string),
			aliases: make(map[export]string), imports: make(map[string][]export)}
		if err := g.join(made); err != nil {
			return err
		}
		for name := range g.home {
			joined[name] = true
		}
	}
	alone := make(map[string]bool)
	for _, name := range documentScripts(files) {
		if !isBundle(name) {
			markImports(modules, name, alone)
		}
	}
	for name := range modules {
		switch {
		case joined[name] && !alone[name]:
			delete(files, name)
		case !isVendored(name):
			if files[name], err = minified(name, files[name]); err != nil {
				return err
			}
		}
	}
	maps.Copy(files, made)
	return nil
}

var documentScript = regexp.MustCompile(`<script type="module"[^>]* src="{{base}}/([^"]+)"`)

// documentScripts returns the modules that documents load.
func documentScripts(files map[string][]byte) (names []string) {
	for name, body := range files {
		if path.Ext(name) == ".html" {
			for _, m := range documentScript.FindAllSubmatch(body, -1) {
				names = append(names, string(m[1]))
			}
		}
	}
	return names
}

// markImports marks a module and its imports.
func markImports(modules map[string]*module, name string, marked map[string]bool) {
	if marked[name] || isBundle(name) {
		return
	}
	marked[name] = true
	for _, from := range modules[name].imports {
		markImports(modules, from, marked)
	}
}

// group makes the bundles of one group.
type group struct {
	modules map[string]*module
	names   []string            // of the bundles
	home    map[string]string   // by module: its bundle
	aliases map[export]string   // what bundles export to later ones, and as what
	imports map[string][]export // by bundle: what it imports from earlier ones
}

// export is an exported name. Bundles use an alias for it, because two modules of a bundle can export the same name.
type export struct{ module, name string }

// join adds the bundles of the group to made.
func (g *group) join(made map[string][]byte) error {
	for _, bundle := range g.names {
		if home := g.home[bundle]; home != "" {
			return fmt.Errorf("%s imports %s, which is a bundle", home, bundle)
		}
		if err := g.collect(bundle, bundle); err != nil {
			return err
		}
	}
	for _, bundle := range slices.Backward(g.names) { // what a bundle exports decides what it imports
		if err := g.share(bundle); err != nil {
			return err
		}
	}
	for _, bundle := range g.names {
		body, _, err := g.build(bundle, g.stub(bundle))
		if err != nil {
			return err
		}
		made[bundle] = body
	}
	return nil
}

// collect puts a module and its imports into a bundle unless they are in an earlier one.
func (g *group) collect(bundle, name string) error {
	if g.home[name] != "" {
		return nil
	}
	m := g.modules[name]
	if m == nil {
		return fmt.Errorf("%s is missing", name)
	}
	g.home[name] = bundle
	for _, from := range m.imports {
		if err := g.collect(bundle, from); err != nil {
			return err
		}
	}
	return nil
}

// share finds what a bundle imports from earlier ones. It builds the bundle with one external import for each name,
// because esbuild drops unused ones.
func (g *group) share(bundle string) error {
	_, external, err := g.build(bundle, func(module string) (code string) {
		for _, name := range g.modules[module].exports {
			code += fmt.Sprintf("export {%s} from %q\n", name, asPure+module+"?"+name)
		}
		return code
	})
	if err != nil {
		return err
	}
	for _, at := range external {
		module, name, _ := strings.Cut(at, "?")
		e := export{module, name}
		if !slices.Contains(g.imports[bundle], e) {
			g.imports[bundle] = append(g.imports[bundle], e)
		}
		if g.aliases[e] == "" {
			g.aliases[e] = alias(len(g.aliases))
		}
	}
	return nil
}

// alias returns the alias with a number. It starts with $, so that it cannot be a name that a module
// exports.
func alias(n int) string {
	const digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if n < len(digits) {
		return "$" + digits[n:n+1]
	}
	return alias(n/len(digits)-1) + digits[n%len(digits):n%len(digits)+1]
}

// These are the names of modules that build writes. entryName is the module from which a bundle starts. bundlePrefix
// and the name of an earlier bundle name a module with the imports from that bundle, so that there is one statement
// for it.
const (
	entryName    = "entry"
	bundlePrefix = "bundle:"
)

// build builds one bundle. stub returns the code that replaces a module in an earlier bundle.
func (g *group) build(bundle string, stub func(module string) string) (body []byte, external []string, err error) {
	entry := fmt.Sprintf("export * from %q\n", asModule+bundle)
	for _, e := range g.exportsOf(bundle) {
		entry += fmt.Sprintf("export {%s as %s} from %q\n", e.name, g.aliases[e], asModule+e.module)
	}
	body, external, err = bundleOf(entryName, func(name string) (string, bool) {
		switch {
		case name == entryName:
			return entry, true
		case g.home[name] == bundle:
			return g.modules[name].code, true
		}
		return stub(name), true
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", bundle, err)
	}
	return body, external, nil
}

// exportsOf returns what a bundle exports to later ones.
func (g *group) exportsOf(bundle string) (list []export) {
	for e := range g.aliases {
		if g.home[e.module] == bundle {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b export) int { return cmp.Compare(g.aliases[a], g.aliases[b]) })
	return list
}

// stub returns a function that writes the replacement of a module in an earlier bundle: imports from that
// bundle.
func (g *group) stub(bundle string) func(module string) string {
	return func(module string) string {
		if from, found := strings.CutPrefix(module, bundlePrefix); found {
			var aliases []string
			for _, e := range g.imports[bundle] {
				if g.home[e.module] == from {
					aliases = append(aliases, g.aliases[e])
				}
			}
			return fmt.Sprintf("export {%s} from %q\n", strings.Join(aliases, ", "), asExternal+"../"+from)
		}
		from := asModule + bundlePrefix + g.home[module]
		code := fmt.Sprintf("import %q\n", from)
		for _, e := range g.imports[bundle] {
			if e.module == module {
				code += fmt.Sprintf("export {%s as %s} from %q\n", g.aliases[e], e.name, from)
			}
		}
		return code
	}
}
