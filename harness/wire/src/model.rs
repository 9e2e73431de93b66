//! The model APIs' streams: OpenAI chat and responses, Anthropic messages.
