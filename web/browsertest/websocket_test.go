package browsertest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// socket is the client's end of a WebSocket (RFC 6455) to a browser on this machine. It sends and receives whole text
// messages.
type socket struct {
	stream io.ReadWriteCloser
	in     *bufio.Reader

	writing sync.Mutex
}

// These are the opcodes of frames. frameLast is the first bit of the last frame of a message.
const (
	frameMore, frameText, frameClose, framePing, framePong = 0x0, 0x1, 0x8, 0x9, 0xA

	frameLast = 0x80
)

// dial opens a WebSocket at an address such as ws://127.0.0.1:4321/session.
func dial(address string) (*socket, error) {
	ask, err := http.NewRequest(http.MethodGet, "http"+strings.TrimPrefix(address, "ws"), nil)
	if err != nil {
		return nil, err
	}
	// The nonce of RFC 6455 protects against caches. There are none on this connection, so a fixed nonce is sufficient.
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "aG9sZGZhc3QgaG9sZGZhcw=="} {
		ask.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(ask)
	if err != nil {
		return nil, err
	}
	stream, isBoth := answer.Body.(io.ReadWriteCloser)
	if answer.StatusCode != http.StatusSwitchingProtocols || !isBoth {
		answer.Body.Close()
		return nil, fmt.Errorf("%s answers a WebSocket with %s", address, answer.Status)
	}
	return &socket{stream: stream, in: bufio.NewReader(stream)}, nil
}

// read waits for the next message. It returns io.EOF if the browser has closed the socket.
func (s *socket) read() ([]byte, error) {
	var message []byte
	for {
		var head [2]byte
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return nil, err
		}
		size := uint64(head[1] & 0x7F) // a server's frames are not masked
		if more := map[uint64]int{126: 2, 127: 8}[size]; more > 0 {
			var long [8]byte
			if _, err := io.ReadFull(s.in, long[8-more:]); err != nil {
				return nil, err
			}
			size = binary.BigEndian.Uint64(long[:])
		}
		part := make([]byte, size)
		if _, err := io.ReadFull(s.in, part); err != nil {
			return nil, err
		}
		switch kind := head[0] & 0x0F; kind {
		case frameText, frameMore:
			message = append(message, part...)
			if head[0]&frameLast != 0 {
				return message, nil
			}
		case framePing:
			if err := s.send(framePong, part); err != nil {
				return nil, err
			}
		case framePong:
		case frameClose:
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("a browser sends no frame of kind %#x", kind)
		}
	}
}

// write sends a message.
func (s *socket) write(message []byte) error { return s.send(frameText, message) }

// mask is applied to everything that a client sends. It protects proxies from malicious scripts, so any fixed value is
// sufficient here, except all zeros: Firefox treats a mask of zeros as no mask.
var mask = [4]byte{'h', 'o', 'l', 'd'}

// send writes one frame.
func (s *socket) send(kind byte, content []byte) error {
	frame := []byte{kind | frameLast}
	switch size := len(content); {
	case size < 126:
		frame = append(frame, 0x80|byte(size))
	case size <= 0xFFFF:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(size))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(size))
	}
	frame = append(frame, mask[:]...)
	for i, b := range content {
		frame = append(frame, b^mask[i%len(mask)])
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := s.stream.Write(frame)
	return err
}
