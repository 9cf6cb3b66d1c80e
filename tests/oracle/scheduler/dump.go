package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// readDumps decodes files as `kubectl get -o json` prints them: Lists, one or more a file.
func (c *cluster) readDumps(paths []string) error {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		err = c.readLists(file)
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (c *cluster) readLists(in io.Reader) error {
	decoder := jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if decoder.PeekKind() != '{' {
			if _, err := decoder.ReadToken(); err != io.EOF {
				return fmt.Errorf("want a List object as `kubectl get -o json` prints it: %w", err)
			}
			return nil
		}
		if err := c.readList(decoder); err != nil {
			return err
		}
	}
}

func (c *cluster) readList(decoder *jsontext.Decoder) error {
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	kind := ""
	for decoder.PeekKind() != '}' {
		key, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		if key.String() == "items" {
			err = c.readItems(decoder, kind)
		} else if key.String() == "kind" {
			var name jsontext.Token
			name, err = decoder.ReadToken()
			kind = strings.TrimSuffix(name.String(), "List")
		} else {
			err = decoder.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := decoder.ReadToken()
	return err
}

func (c *cluster) readItems(decoder *jsontext.Decoder, kind string) error {
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != ']' {
		text, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		if err := c.decode(item{kind, text}); err != nil {
			return err
		}
	}
	_, err := decoder.ReadToken()
	return err
}
