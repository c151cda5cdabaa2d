package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// module is a script of web/ui. Its name is its path below web/ui, such as lib/html.js.
type module struct {
	code    string
	imports []string // the modules that it imports statically
	exports []string
}

// These prefixes mark the imports in generated code. asModule is followed by the name of a module, asExternal by a path
// that the browser resolves. asPure is also followed by such a path, but esbuild drops the import if none of its names
// is used.
const (
	asModule   = "module:"
	asExternal = "external:"
	asPure     = "pure:"
)

// readModules reads the imports and exports of all scripts. An import of a missing module or name is an error.
func readModules(files map[string][]byte) (map[string]*module, error) {
	modules := make(map[string]*module)
	for name, body := range files {
		if path.Ext(name) == ".js" {
			modules[name] = &module{code: string(body)}
		}
	}
	options := optionsFor(func(name string) (string, bool) {
		if m := modules[name]; m != nil {
			return m.code, true
		}
		return "", false
	})
	options.EntryPoints = slices.Sorted(maps.Keys(modules))
	options.Splitting = true
	_, about, err := esbuild(options)
	if err != nil {
		return nil, err
	}
	for at, in := range about.Inputs {
		m := modules[nameOf(at)]
		for _, i := range in.Imports {
			if !i.External {
				m.imports = append(m.imports, nameOf(i.Path))
			}
		}
	}
	for _, out := range about.Outputs {
		if m := modules[nameOf(out.EntryPoint)]; m != nil {
			m.exports = out.Exports
		}
	}
	return modules, nil
}

// bundleOf minifies a module together with its imports. external lists the paths that the bundle imports.
func bundleOf(entry string, load func(name string) (code string, found bool)) (body []byte, external []string,
	err error) {
	options := optionsFor(load)
	options.EntryPoints = []string{entry}
	options.MinifyWhitespace, options.MinifyIdentifiers, options.MinifySyntax = true, true, true
	files, about, err := esbuild(options)
	if err != nil {
		return nil, nil, err
	}
	for _, out := range about.Outputs {
		for _, i := range out.Imports {
			if i.Kind == "import-statement" {
				external = append(external, i.Path)
			}
		}
	}
	return files[0].Contents, external, nil
}

// minified minifies a script or a style sheet without its imports. A script keeps its global names.
func minified(name string, body []byte) ([]byte, error) {
	loader := api.LoaderJS
	if path.Ext(name) == ".css" {
		loader = api.LoaderCSS
	}
	result := api.Transform(string(body), api.TransformOptions{
		Loader: loader, Target: language, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
	})
	if err := errorOf(result.Errors); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return result.Code, nil
}

// language is the version of JavaScript that the oldest supported browsers can run.
const language = api.ES2022

// namespace is where esbuild finds the modules: in memory, not in the file system.
const namespace = "ui"

func nameOf(at string) string { return strings.TrimPrefix(at, namespace+":") }

func optionsFor(load func(name string) (code string, found bool)) api.BuildOptions {
	return api.BuildOptions{
		Bundle: true, Format: api.FormatESModule, Target: language, Charset: api.CharsetUTF8, Outdir: "/",
		Metafile: true, LegalComments: api.LegalCommentsNone, TsconfigRaw: "{}",
		Plugins: []api.Plugin{{Name: namespace, Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: ".*"}, resolve)
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace},
				func(a api.OnLoadArgs) (api.OnLoadResult, error) {
					code, found := load(a.Path)
					if !found {
						return api.OnLoadResult{}, fmt.Errorf("%s is missing", a.Path)
					}
					return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS}, nil
				})
		}}},
	}
}

// resolve finds an imported module. Modules import libraries by their names in the pages' import maps.
func resolve(a api.OnResolveArgs) (api.OnResolveResult, error) {
	local := func(name string) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: name, Namespace: namespace}, nil
	}
	if name, found := strings.CutPrefix(a.Path, asModule); found {
		return local(name)
	}
	if at, found := strings.CutPrefix(a.Path, asExternal); found {
		return api.OnResolveResult{Path: at, External: true}, nil
	}
	if at, found := strings.CutPrefix(a.Path, asPure); found {
		return api.OnResolveResult{Path: at, External: true, SideEffects: api.SideEffectsFalse}, nil
	}
	switch {
	case a.Kind == api.ResolveEntryPoint:
		return local(a.Path)
	case a.Kind != api.ResolveJSImportStatement:
		return api.OnResolveResult{Path: a.Path, External: true}, nil
	case strings.HasPrefix(a.Path, "."):
		return local(path.Join(path.Dir(a.Importer), a.Path))
	}
	return local("vendor/" + path.Base(a.Path) + ".js")
}

// metafile is the part of esbuild's report that this program reads.
type metafile struct {
	Inputs map[string]struct {
		Imports []imported
	}
	Outputs map[string]struct {
		EntryPoint string
		Exports    []string
		Imports    []imported
	}
}

type imported struct {
	Path     string
	Kind     string
	External bool
}

func esbuild(options api.BuildOptions) (files []api.OutputFile, about metafile, err error) {
	result := api.Build(options)
	if err := errorOf(result.Errors); err != nil {
		return nil, about, err
	}
	err = json.Unmarshal([]byte(result.Metafile), &about)
	return result.OutputFiles, about, err
}

func errorOf(messages []api.Message) error {
	if len(messages) == 0 {
		return nil
	}
	text := strings.Join(api.FormatMessages(messages, api.FormatMessagesOptions{}), "\n")
	return errors.New(strings.TrimSpace(text))
}
