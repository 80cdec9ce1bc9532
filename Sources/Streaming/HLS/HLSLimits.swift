/// The times and the memory of a stream.
package struct HLSLimits: Sendable {
    /// In ticks of 90 kHz.
    static let ticksPerSecond: Int64 = 90_000
    /// `EXT-X-TARGETDURATION` in seconds, also the longest time between two keyframes.
    package static let targetSeconds = 4
    /// `PART-TARGET`: 0.5 s.
    static let partTarget = ticksPerSecond / 2
    /// A keyframe that comes earlier, for somebody who joins the room, ends no segment.
    static let shortestSegment = ticksPerSecond * 3
    /// A keyframe is requested here …
    static let requestsKeyframe = ticksPerSecond * Int64(targetSeconds)
    /// … and without one the segment ends here: `EXTINF` may be at most the target, rounded (RFC 8216bis §4.4.3.1).
    static let longestSegment = requestsKeyframe + ticksPerSecond * 45 / 100
    /// A longer pause of the picture is an interruption.
    static let longestGap = ticksPerSecond * 2
    /// Parts are listed for as many segments: three target durations (RFC 8216bis §6.2.2).
    static let segmentsWithParts = 3
    /// How far a request may be ahead in one segment (RFC 8216bis §6.2.5.2): three seconds of parts and a half.
    static let partsAhead = 6
    /// A playlist that nobody asks for by number has at least as many.
    static let fewestSegments = 3
    /// Segments that are not listed any more and are still served to who read an older playlist.
    static let unlistedSegments = 2

    /// The most complete segments in the playlist.
    package var segments = 6
    /// The most bytes that a stream keeps: eight segments at 8 Mbit/s.
    package var bytes = 32 << 20

    package init() {}
}
