// Package openai runs turns on any OpenAI-compatible chat-completions endpoint:
// OpenAI itself, vLLM, Ollama, LiteLLM, the llama.cpp server and others.
//
// A turn is one or more rounds. Each round sends the system prompt, the newest
// history that fits the budget, the user's message and what the turn has added
// so far; the answer is streamed as chunks. When the model calls tools, the
// calls go to the user's clients side by side, and their results into the next
// round. Steering messages are taken between rounds.
//
// # Guarantees
//
// Text arrives byte for byte, also when the provider cuts inside characters.
// Every assistant message that announces tool calls is followed in the history
// by a result for each of them, so history can always be sent again. Ids of
// calls are made here: whatever ids a provider uses, and however often it uses
// them again, two calls are never mixed up. A request is repeated only
// while nothing of its answer was shown.
//
// # Concurrency and failure
//
// An Agent is safe for concurrent use. A turn's HTTP request ends with its
// context. Failures of the provider fail the turn with an *agent.Error that
// carries error_type and, when there was an HTTP answer, status_code. Keys
// never appear in errors or logs. Turns are not restartable.
package openai
