package cli

import (
	"fmt"

	"holdfast/engine/notice"
)

// smsConfig holds the settings of the SMS gateway.
type smsConfig struct {
	url                            string // if empty, an owner can choose a gateway in the console
	method, headers, body, success string
}

// texter returns the sender of text messages. Its errors name the setting and never quote a secret.
func (c smsConfig) texter(allowPrivate bool) (*notice.Texter, error) {
	o := notice.TexterOptions{AllowPrivate: allowPrivate}
	if c.url != "" {
		g, secret, err := notice.ParseGateway(c.url)
		if err != nil {
			return nil, fmt.Errorf("--sms-url: %w", err)
		}
		if g.Body == "" { // not a preset
			g.Method, g.Body, g.Success = c.method, c.body, c.success
			if c.headers != "" {
				g.Headers += "\n" + c.headers
			}
		}
		o.Given, o.Secret = &g, secret
	}
	x, err := notice.NewTexter(o)
	if err != nil {
		return nil, fmt.Errorf("invalid SMS settings (--sms-…): %w", err)
	}
	return x, nil
}
