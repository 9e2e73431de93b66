//! The scripted model server: a scenario's turns, spoken in the model APIs' dialects.
