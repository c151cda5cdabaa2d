package web

import (
	"encoding/base64"
	"net/http"

	"holdfast/store"
)

// maxPictureBody is the size limit of a body with a picture. It allows for the largest picture in base64 and the JSON
// around it.
const maxPictureBody = 256 << 10

// picturePath returns the path of a specialist's picture, or "" if there is none. The path contains the digest of the
// picture, so browsers can cache the picture without revalidation.
func picturePath(p *store.Specialist) string {
	if p.PictureDigest == "" {
		return ""
	}
	return "/v1/specialists/" + p.ID + "/picture?v=" + p.PictureDigest
}

// pictureBody is a picture in base64.
type pictureBody struct {
	Content string `json:"content"`
}

// putPicture stores a specialist's picture. The bytes of the picture determine its type.
func (s *Server) putPicture(c *call, b *pictureBody) error {
	content, err := base64.StdEncoding.DecodeString(b.Content)
	if err != nil {
		c.wrong.add("content", "must be a picture in base64")
	}
	if _, err := s.engine.Clinic.PutPicture(c.ctx(), c.caller.actor, c.param("id"), content); err != nil {
		return err
	}
	return s.getSpecialist(c)
}

func (s *Server) deletePicture(c *call) error {
	return c.done(s.engine.Clinic.DeletePicture(c.ctx(), c.caller.actor, c.param("id")))
}

// getPicture returns the picture of a specialist. Only the desk gets the picture of a deactivated specialist.
func (s *Server) getPicture(c *call) error {
	p, err := s.engine.Clinic.Specialist(c.param("id"))
	if err != nil || p.PictureDigest == "" || !p.Active && !c.caller.may(desk) {
		return errNotFound.with("There is no such picture.")
	}
	tag := `"` + p.PictureDigest + `"`
	h := c.rw.Header()
	h["Etag"] = []string{tag}
	h["Cache-Control"] = noCache
	if c.r.URL.Query().Get("v") == p.PictureDigest {
		h["Cache-Control"] = []string{"public, max-age=31536000, immutable"}
	}
	if hasTag(c.r.Header["If-None-Match"], tag) {
		return c.empty(http.StatusNotModified)
	}
	picture, err := s.engine.Clinic.Picture(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	h["Content-Type"] = []string{picture.ContentType}
	c.status, c.out = http.StatusOK, picture.Content
	return nil
}
