package main

import (
	"bytes"
	"errors"
	"io"
)

const chunkBytes = 1 << 22

var errTruncated = errors.New("the JSON text ends in the middle of a value")

// scanner finds the borders of JSON values in a stream without decoding them. A value it hands out stays valid: each
// refill takes a new buffer.
type scanner struct {
	in   io.Reader
	data []byte
	at   int
	eof  bool
}

// peek returns the next byte that is no white space, without taking it; io.EOF at the end of the stream.
func (s *scanner) peek() (byte, error) {
	for {
		for ; s.at < len(s.data); s.at++ {
			switch b := s.data[s.at]; b {
			case ' ', '\t', '\r', '\n':
			default:
				return b, nil
			}
		}
		if s.eof {
			return 0, io.EOF
		}
		if err := s.refill(); err != nil {
			return 0, err
		}
	}
}

// takes reports whether the next byte is want, and takes it if so.
func (s *scanner) takes(want byte) (bool, error) {
	b, err := s.peek()
	if err == nil && b == want {
		s.at++
		return true, nil
	}
	return false, err
}

// value takes the next JSON value and returns its text.
func (s *scanner) value() ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, err
	}
	for {
		end := endOfValue(s.data[s.at:])
		if end < 0 && s.eof {
			return nil, errTruncated
		}
		if end >= 0 {
			text := s.data[s.at : s.at+end]
			s.at += end
			return text, nil
		}
		if err := s.refill(); err != nil {
			return nil, err
		}
	}
}

// refill reads more behind what is not yet taken; the room at least doubles, so a huge value is scanned a few times only.
func (s *scanner) refill() error {
	rest := s.data[s.at:]
	room := make([]byte, len(rest)+max(chunkBytes, len(rest)))
	kept := copy(room, rest)
	n, err := io.ReadFull(s.in, room[kept:])
	s.data, s.at = room[:kept+n], 0
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		s.eof = true
		return nil
	}
	return err
}

// endOfValue returns the length of the JSON value at the start of text, or -1 when the text ends first. It trusts the
// text to be JSON; the decoder checks it afterwards.
func endOfValue(text []byte) int {
	if len(text) == 0 {
		return -1
	}
	switch text[0] {
	case '"':
		return endOfString(text)
	case '{', '[':
		return endOfContainer(text)
	default:
		return bytes.IndexAny(text, ",]} \t\r\n")
	}
}

func endOfContainer(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			length := endOfString(text[i:])
			if length < 0 {
				return -1
			}
			i += length - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func endOfString(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
