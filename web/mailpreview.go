package web

import (
	"net/http"

	"holdfast/engine/clinic"
)

type mailPreviewBody struct {
	Notice   string `json:"notice"`
	Language string `json:"language"`
	Subject  string `json:"subject"`
	Text     string `json:"text"`
}

type mailPreviewJSON struct {
	Subject string          `json:"subject"`
	Text    string          `json:"text"`
	Own     clinic.MailText `json:"own"` // the default text, without the clinic's changes
}

// previewMail is `POST /v1/settings/mail-preview`. It renders an email, and changes and sends nothing.
func (s *Server) previewMail(c *call, b *mailPreviewBody) error {
	c.once = nil
	p, err := s.engine.Message.PreviewMail(b.Notice, b.Language, clinic.MailText{Subject: b.Subject, Text: b.Text})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, mailPreviewJSON(p))
}
