package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"
)

// usage counts tokens over the rounds of a turn.
type usage struct {
	*tokens        // nil: the provider has told none, which is not zero
	Rounds  int    `json:"rounds"`
	Model   string `json:"model,omitempty"`
}

type tokens struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// take takes a chunk's usage; only the last one of a stream counts.
func (u *usage) take(c sdk.ChatCompletionChunk) {
	if c.Model != "" {
		u.Model = c.Model
	}
	if c.JSON.Usage.Valid() {
		u.tokens = &tokens{c.Usage.PromptTokens, c.Usage.CompletionTokens, c.Usage.TotalTokens}
	}
}

// add adds a round.
func (u *usage) add(v usage) {
	if v.tokens != nil {
		sum := *v.tokens
		if u.tokens != nil {
			sum.Prompt += u.Prompt
			sum.Completion += u.Completion
			sum.Total += u.Total
		}
		u.tokens = &sum
	}
	u.Rounds++
	if v.Model != "" {
		u.Model = clip(v.Model)
	}
}

func (u *usage) json() json.RawMessage {
	b, _ := json.Marshal(u)
	return b
}
