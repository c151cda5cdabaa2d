package upstream

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
)

// maxAnswer is the maximum size of one response, in bytes.
const maxAnswer = 1 << 20

// maxDepth limits the nesting of elements. A valid response needs four levels.
const maxDepth = 8

// answer is a complete and well-formed GetDataResponse.
type answer struct {
	success bool
	message string   // ErrorMessage
	records []record // Records/Record
}

// record contains the fields of one Record by lower-case name, because the upstream uses different cases for the same
// name.
type record map[string]string

// first returns the first of the named fields that is not empty.
func (r record) first(names ...string) string {
	for _, name := range names {
		if v := r[name]; v != "" {
			return v
		}
	}
	return ""
}

var (
	errNotWhole = errors.New("the answer was not complete XML")
	errNotOurs  = errors.New("the answer was not a GetDataResponse")
	errTwice    = errors.New("the answer had a duplicate element")
	errStatus   = errors.New("the answer was neither Success nor Error")
)

// parseAnswer reads exactly one complete GetDataResponse. It refuses any other root or namespace, a DTD (and so all
// entities except XML's five built-in ones), text after the end, and repeated parts. The error describes the problem in
// fixed words.
func parseAnswer(body []byte) (*answer, error) {
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\uFEFF"))))
	d.CharsetReader = charset
	var (
		a     answer
		parts = record{} // the elements directly under the root
		path  []string   // lower-case names from the root down
		text  strings.Builder
		ended bool
	)
	for {
		token, err := d.Token()
		if err == io.EOF && ended {
			break
		}
		if err != nil {
			return nil, errNotWhole
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(path) == 0 && (ended || t.Name.Local != "GetDataResponse" || t.Name.Space != Namespace) {
				return nil, errNotOurs
			}
			if len(path) == maxDepth || t.Name.Space != Namespace && t.Name.Space != "" {
				return nil, errNotOurs
			}
			path = append(path, strings.ToLower(t.Name.Local))
			text.Reset()
			if len(path) == 3 && path[1] == "records" && path[2] == "record" {
				a.records = append(a.records, record{})
			}
		case xml.EndElement:
			value, into := strings.TrimSpace(text.String()), parts
			if len(path) == 4 && path[1] == "records" && path[2] == "record" {
				into = a.records[len(a.records)-1]
			} else if len(path) != 2 {
				into = nil
			}
			if into != nil {
				name := path[len(path)-1]
				if _, before := into[name]; before {
					return nil, errTwice
				}
				into[name] = value
			}
			path = path[:len(path)-1]
			text.Reset()
			ended = len(path) == 0
		case xml.CharData:
			if len(path) == 0 && len(bytes.TrimSpace(t)) > 0 {
				return nil, errNotOurs
			}
			text.Write(t)
		case xml.Directive:
			return nil, errNotOurs
		}
	}
	a.message = parts["errormessage"]
	switch strings.ToLower(parts["responsestatus"]) {
	case "success":
		a.success = true
	case "error":
	default:
		return nil, errStatus
	}
	return &a, nil
}

// charset passes ASCII through and converts Latin-1. A response that is labelled utf-16 but was readable up to this
// point is UTF-8: .NET labels every string that way.
func charset(label string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "utf-16", "us-ascii", "ascii":
		return input, nil
	case "iso-8859-1", "latin1", "windows-1252":
		b, err := io.ReadAll(input)
		if err != nil {
			return nil, err
		}
		wide := make([]rune, len(b))
		for i, c := range b {
			wide[i] = rune(c)
		}
		return strings.NewReader(string(wide)), nil
	}
	return nil, errNotWhole
}

var (
	saysError = regexp.MustCompile(`(?i)^error\b[\s:]*`)
	saysDone  = regexp.MustCompile(`(?i)\b(added|created|success(ful|fully)?)\b`)
	guid      = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
)

// refusal returns the error text of the response, and whether the response is an error. The text is in ErrorMessage, or
// in a Result that begins with Error, whatever the status is.
func (a *answer) refusal() (said string, failed bool) {
	said, failed = a.message, !a.success || a.message != ""
	for _, r := range a.records {
		result := r["result"]
		if saysError.MatchString(result) {
			failed = true
		}
		if failed && said == "" {
			said = saysError.ReplaceAllString(result, "")
		}
	}
	return said, failed
}

// done reports whether a Result states that something was written.
func (a *answer) done() bool {
	for _, r := range a.records {
		if result := r["result"]; !saysError.MatchString(result) && saysDone.MatchString(result) {
			return true
		}
	}
	return false
}

// made returns the GUID of the written object. It is empty if the response contains none, or several.
func (a *answer) made() string {
	var found string
	for _, r := range a.records {
		for _, g := range guid.FindAllString(r["result"], -1) {
			if found != "" && !EqualGUID(found, g) {
				return ""
			}
			found = g
		}
	}
	return found
}
