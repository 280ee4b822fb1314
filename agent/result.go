package agent

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// NoResult is what a model is told of a tool call that no client answered in time.
const NoResult = "Error: no client returned a result in time. The outcome of the call is unknown."

// ResultText is what a model is told of the answer to a tool call ({ok, result,
// error}): the result, a string as it is and anything else as JSON, or the error
// behind "Error: ". It is cut between characters at limit bytes, and then says so.
func ResultText(answer json.RawMessage, limit int) string {
	var said struct {
		OK     *bool           `json:"ok"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return "Error: the client's answer could not be read."
	}
	text := plain(said.Result)
	switch {
	case said.OK == nil && len(said.Result) == 0 && len(said.Error) == 0:
		text = "Error: the client's answer has neither a result nor an error."
	case said.OK != nil && !*said.OK, said.OK == nil && len(said.Result) == 0:
		if text = plain(said.Error); text == "" {
			text = "the tool failed"
		}
		text = "Error: " + text
	}
	if text = strings.ToValidUTF8(text, "\ufffd"); len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:max(limit, 0)] + " [cut: the result is too long]"
}

// plain is a string's text, and the JSON of anything else.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
