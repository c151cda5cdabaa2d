package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"holdfast/web"
)

// decodeStrictly decodes one JSON value with the same checks as an import over HTTP. Its errors contain the line
// number.
func decodeStrictly(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	at := 0
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = int(syntax.Offset)
		if strings.HasSuffix(syntax.Error(), "after top-level value") {
			err = errors.New("there is text after the end of the JSON value")
		}
	} else if end, field, message := web.Misfit(text, reflect.TypeOf(into)); message != "" {
		at, err = end, fmt.Errorf("%s %s", cmp.Or(field, "the file"), message)
	}
	if err == nil {
		return nil
	}
	line := 1 + bytes.Count(text[:min(at, len(text))], []byte("\n"))
	return fmt.Errorf("line %d: %w", line, err)
}
