package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// maxMessage is the largest line of the protocol, in bytes.
const maxMessage = 1 << 20

func mcpCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the Model Context Protocol on standard input and output",
		Long: "Lets an assistant on this machine book appointments. The command serves the Model Context Protocol\n" +
			"on standard input and output, and connects to the server that is running on the data directory.\n" +
			"For assistants on other machines, use POST /mcp with an API key that has the agent scope.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if err := needDatabase(c.Context(), cfg.data); err != nil {
				return err
			}
			admin, err := dialStarting(c.Context(), cfg.data)
			if err != nil {
				return fmt.Errorf("no server is running on %s. Start one first with: holdfast serve --data %s", cfg.data,
					cfg.data)
			}
			return p.bridge(c.Context(), admin)
		},
	}
	defineSettings(c, forData)
	return c
}

// dialStarting is like dialAdmin, but it waits for a server that is starting: a server and an assistant are often
// started at the same time.
func dialStarting(ctx context.Context, data string) (*adminClient, error) {
	patience, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		admin, err := dialAdmin(ctx, data)
		if err == nil || !inUse(data) {
			return admin, err
		}
		select {
		case <-patience.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// inUse reports whether another process has locked the data directory.
func inUse(data string) bool {
	if !hasDatabase(data) {
		return false
	}
	d, err := openDataDir(data, time.Now(), 0)
	if err == nil {
		err = d.close()
	}
	var taken *inUseError
	return errors.As(err, &taken)
}

// bridge sends each line of the input, one JSON-RPC message, to the server and writes the response as one line, until
// the input ends.
func (p process) bridge(ctx context.Context, admin *adminClient) error {
	lines := bufio.NewScanner(p.stdin)
	lines.Buffer(make([]byte, 0, 64<<10), maxMessage)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		answer, err := admin.exchange(ctx, line)
		if err != nil {
			return err
		}
		if len(answer) == 0 {
			continue // a notification has no response
		}
		if _, err := p.stdout.Write(append(bytes.ReplaceAll(answer, []byte("\n"), nil), '\n')); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a message is longer than %d bytes", maxMessage)
	} else if err != nil {
		return err
	}
	return nil
}

// exchange sends one message of the protocol and returns the response, which may be empty.
func (c *adminClient) exchange(ctx context.Context, message []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, adminHost+"/mcp", bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("connection to the server lost: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 8*maxMessage))
	if err != nil || len(text) == 0 || json.Valid(text) {
		return text, err
	}
	return refusal(message, string(text)), nil
}

// refusal converts the text of an HTTP error to a JSON-RPC error. It returns nil for a notification, which gets no
// response.
func refusal(message []byte, sentence string) []byte {
	var asked struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	code := -32600 // invalid request
	switch err := json.Unmarshal(message, &asked); {
	case err != nil:
		code, asked.ID = -32700, json.RawMessage("null") // parse error
	case asked.ID == nil:
		return nil
	case strings.Contains(sentence, "unsupported"):
		code = -32601 // no such method
	}
	b, _ := json.Marshal(map[string]any{ // all values are valid JSON
		"jsonrpc": "2.0", "id": asked.ID, "error": map[string]any{"code": code, "message": strings.TrimSpace(sentence)},
	})
	return b
}
