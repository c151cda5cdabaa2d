package notice

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Gateway describes the HTTP request that makes an SMS gateway send one text message. URL, Headers and Body are
// templates with these placeholders:
//
//	{to}      the number in E.164, such as +4930123456     {number}  the same without the plus
//	{text}    the text                                     {from}    the sender
//	{user}    the account                                  {secret}  the password or API key
//	{basic}   user:secret in base64, for HTTP Basic authentication
//
// Each value is escaped for its context: as a query value in a URL or a form, and as a string in JSON.
type Gateway struct {
	Method  string `json:"method"`            // POST, PUT or GET
	URL     string `json:"url"`               // https; without placeholders in the host
	Headers string `json:"headers,omitempty"` // one "Name: value" per line
	Body    string `json:"body,omitempty"`
	// text in the response to an accepted message; white space is ignored. If it is empty, any 2xx response means
	// success
	Success string `json:"success,omitempty"`
	From    string `json:"from,omitempty"`
	User    string `json:"user,omitempty"`
	Sealed  string `json:"sealedSecret,omitempty"` // with the keys of this server; see token.Keyring.Seal
}

// GatewayPresets returns, by name, the gateways whose request format is known. The account, the secret and the sender
// are missing.
func GatewayPresets() map[string]Gateway {
	return map[string]Gateway{
		"twilio": {
			Method: http.MethodPost, URL: "https://api.twilio.com/2010-04-01/Accounts/{user}/Messages.json",
			Headers: "Authorization: Basic {basic}", Body: "To={to}&From={from}&Body={text}",
		},
		"seven": {
			Method: http.MethodPost, URL: "https://gateway.seven.io/api/sms",
			Headers: "X-Api-Key: {secret}\nAccept: application/json\nContent-Type: application/json",
			Body:    `{"to": "{to}", "from": "{from}", "text": "{text}"}`, Success: `"success":"100"`,
		},
	}
}

// ParseGateway reads a gateway and its secret from one address: twilio://ACCOUNT:TOKEN@?from=SENDER,
// seven://APIKEY@?from=SENDER, or the https:// address of any gateway, with user and secret in front of the host. The
// error never quotes the address.
func ParseGateway(address string) (g Gateway, secret string, _ error) {
	u, err := url.Parse(address)
	if err != nil {
		return g, "", errors.New("the address of the SMS gateway cannot be read")
	}
	user := u.User
	if user != nil {
		g.User = user.Username()
		secret, _ = user.Password()
	}
	preset, known := GatewayPresets()[u.Scheme]
	if !known {
		// The template is cut from the address itself, not from u, which would escape the braces of the placeholders.
		before, after, _ := strings.Cut(address, "://")
		if host, _, _ := strings.Cut(after, "/"); user != nil && strings.Contains(host, "@") {
			after = after[strings.LastIndex(host, "@")+1:]
			g.Headers = "Authorization: Basic {basic}"
		}
		g.Method, g.URL = http.MethodPost, before+"://"+after
		return g, secret, nil
	}
	if user == nil {
		return g, "", errors.New(
			"the account of the SMS gateway is missing, as in twilio://ACCOUNT:TOKEN@?from=SENDER or " +
				"seven://APIKEY@?from=SENDER",
		)
	}
	preset.User = g.User
	if u.Scheme == "seven" {
		preset.User, secret = "", g.User
	}
	preset.From = u.Query().Get("from")
	if number, found := strings.CutPrefix(preset.From, " "); found { // a query turns a plus into a space
		preset.From = "+" + number
	}
	if preset.From == "" || secret == "" {
		return g, "", errors.New("the sender (?from=…) or the secret of the SMS gateway is missing")
	}
	return preset, secret, nil
}

// GatewayMistake is an unusable field of a Gateway, named as in JSON.
type GatewayMistake struct{ Field, Text string }

// Mistakes returns the fields that are unusable. allowHTTP allows unencrypted addresses.
func (g *Gateway) Mistakes(allowHTTP bool) (list []GatewayMistake) {
	add := func(field, text string) { list = append(list, GatewayMistake{field, text}) }
	if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodGet}, g.Method) {
		add("method", "must be POST, PUT or GET")
	}
	// A placeholder in the host would let a patient's number choose the server.
	place, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(g.URL, "https://"), "http://"), "/")
	u, err := url.Parse(fillGateway(g.URL, gatewayText{To: "+1", Text: "x"}, g, "x", url.QueryEscape))
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.Contains(place, "{") ||
		strings.ContainsAny(g.URL, " \t\r\n#"):
		add("url", "must be the address of the gateway, such as https://gateway.example.org/send, without a user")
	case u.Scheme != "https" && !(u.Scheme == "http" && allowHTTP):
		add("url", "must begin with https://, because patients' numbers and the secret are sent to it")
	}
	for _, value := range []string{"{to}", "{text}"} {
		other := value
		if value == "{to}" {
			other = "{number}"
		}
		if !strings.Contains(g.URL+g.Body, value) && !strings.Contains(g.URL+g.Body, other) {
			add("body", "must contain {to} and {text}, or the URL must")
			break
		}
	}
	if g.Body != "" && g.Method == http.MethodGet {
		add("body", "must be empty with GET: put {to} and {text} into the URL")
	}
	if _, err := g.header(gatewayText{}, ""); err != nil {
		add("headers", err.Error())
	}
	return list
}

// Host returns the gateway's host.
func (g *Gateway) Host() string {
	_, after, _ := strings.Cut(g.URL, "://")
	host, _, _ := strings.Cut(after, "/")
	host, _, _ = strings.Cut(host, "?")
	return host[strings.LastIndex(host, "@")+1:]
}

// NeedsSecret reports whether a template contains the secret.
func (g *Gateway) NeedsSecret() bool {
	all := g.URL + g.Headers + g.Body
	return strings.Contains(all, "{secret}") || strings.Contains(all, "{basic}")
}

// gatewayText is one text message.
type gatewayText struct{ To, Text string }

// fillGateway replaces the placeholders of a template in one pass, escaping each value.
func fillGateway(template string, m gatewayText, g *Gateway, secret string, escape func(string) string) string {
	return strings.NewReplacer("{to}", escape(m.To), "{number}", escape(strings.TrimPrefix(m.To, "+")), "{text}",
		escape(m.Text), "{from}", escape(g.From), "{user}", escape(g.User), "{secret}", escape(secret), "{basic}",
		escape(base64.StdEncoding.EncodeToString([]byte(g.User+":"+secret)))).Replace(template)
}

// header returns the headers of a request.
func (g *Gateway) header(m gatewayText, secret string) (http.Header, error) {
	h := make(http.Header)
	for line := range strings.Lines(g.Headers) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t{}()<>@,;\\\"/[]?=") {
			return nil, errors.New(`must be lines such as "X-Api-Key: {secret}"`)
		}
		oneLine := func(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }
		h.Set(name, fillGateway(strings.TrimSpace(value), m, g, secret, oneLine))
	}
	if h.Get("Content-Type") == "" && g.Body != "" {
		h.Set("Content-Type", "application/x-www-form-urlencoded")
		if strings.HasPrefix(strings.TrimSpace(g.Body), "{") && !strings.HasPrefix(strings.TrimSpace(g.Body), "{to}") {
			h.Set("Content-Type", "application/json")
		}
	}
	h.Set("User-Agent", "Holdfast-SMS/1")
	return h, nil
}

// escapeFor returns the function that escapes a value in a body with this content type.
func escapeFor(contentType string) func(string) string {
	switch kind, _, _ := strings.Cut(strings.ToLower(contentType), ";"); {
	case strings.HasSuffix(strings.TrimSpace(kind), "json"):
		return func(s string) string {
			b, _ := json.Marshal(s) // marshaling a string cannot fail
			return string(b[1 : len(b)-1])
		}
	case strings.TrimSpace(kind) == "application/x-www-form-urlencoded":
		return url.QueryEscape
	}
	return func(s string) string { return s }
}
