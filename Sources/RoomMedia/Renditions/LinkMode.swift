/// What a participant's line leaves of the room: the top rung, a lower one, sound with a picture every few seconds,
/// sound alone.
public enum LinkMode: String, Sendable { case full, reduced, stills, audio }
