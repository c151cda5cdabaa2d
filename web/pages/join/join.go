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
// an earlier bundle of its group. Many small modules are easy to read but slow to load, because each is requested and
// compressed separately. The bundles are a quarter smaller, and the page shows the first free times sooner. A page
// loads the bundles of only one group, so a module that two groups share is in both groups.
//
// esbuild can also split modules itself, but then it writes a file for each set of pages that share modules. Here, a
// module is in the first bundle of its group that needs it. That bundle exports the names that later bundles use.
//
// There are two rules for modules. Write the path of a dynamic import from the parent folder (import('../lib/…')),
// because the browser resolves it from the folder of the bundle. A file that is loaded separately from the bundles,
// such as texts or a worker, must import nothing. Otherwise, the browser loads a second copy of the imported module.
var bundles = [][]string{
	{
		"book/common.js", "book/page.js", "book/later.js", "book/choose.js", "book/asks.js", "book/request.js",
		"book/waiting.js", "book/online.js", "book/compare.js", "book/after.js", "manage/arrive.js",
		"manage/page.js",
	},
	{"staff/page.js", "staff/keep.js", "staff/more.js"},
	{"plan/page.js"},
}

func isBundle(name string) bool {
	return slices.ContainsFunc(bundles, func(group []string) bool { return slices.Contains(group, name) })
}

// join replaces each module that a bundle is named after with the minified bundle. It removes the other modules of the
// bundles unless a document loads them separately, and minifies the modules that remain.
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

// group builds the bundles of one group.
type group struct {
	modules map[string]*module
	names   []string            // of the bundles
	home    map[string]string   // by module: its bundle
	aliases map[export]string   // the names that bundles export to later bundles, and their aliases
	imports map[string][]export // by bundle: its imports from earlier bundles
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
	for _, bundle := range slices.Backward(g.names) { // a bundle must import whatever its exports to later bundles need
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

// collect puts a module and its imports into a bundle unless an earlier bundle contains them.
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

// share finds the names that a bundle imports from earlier bundles. It builds the bundle with one external import for
// each name. esbuild drops the unused imports, and the rest are the result.
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

// alias returns the alias with number n. It starts with $, so it cannot equal a name that a module exports.
func alias(n int) string {
	const digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if n < len(digits) {
		return "$" + digits[n:n+1]
	}
	return alias(n/len(digits)-1) + digits[n%len(digits):n%len(digits)+1]
}

// These are the names of modules that this program generates. entryName is the entry module of a bundle. bundlePrefix
// followed by the name of an earlier bundle is a module with all imports from that bundle, so that there is only one
// import statement for it.
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

// exportsOf returns the names that a bundle exports to later bundles.
func (g *group) exportsOf(bundle string) (list []export) {
	for e := range g.aliases {
		if g.home[e.module] == bundle {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b export) int { return cmp.Compare(g.aliases[a], g.aliases[b]) })
	return list
}

// stub returns a function that returns a bundle's replacement for a module of an earlier bundle: imports from that
// earlier bundle.
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
