import Basics

/// Which of a participant's connections is seen and heard: a new one from its first keyframe and its first packet of
/// audio on, each for itself. A value without a clock.
struct Changeover {
    /// The times without picture and without audio when a connection took over from another one.
    struct Gaps: Equatable {
        var picture: Duration
        var sound: Duration
    }

    private struct Line {
        /// The number of the connection whose media is taken.
        var number: Int
        /// The arrival of the latest media that was taken.
        var last: Instant?
        /// The time between the previous connection's latest media and the first of this one.
        var gap: Duration?

        /// Returns whether media of a connection is taken, and whether it is the first of this connection.
        mutating func take(_ number: Int, mayBegin: Bool, at now: Instant) -> (isTaken: Bool, isFirst: Bool) {
            guard number >= self.number else { return (false, false) }
            let isFirst = number > self.number
            guard !isFirst || mayBegin else { return (false, false) }
            if isFirst {
                self.number = number
                gap = last.map { now - $0 }
            }
            last = now
            return (true, isFirst)
        }
    }

    private var picture = Line(number: 0)
    private var sound = Line(number: 0)
    private var told = 0
    /// When the connection of the audio took over.
    private var soundSince = Instant.zero
    /// How long a connection may give audio and no picture: on a narrow line the server sends a still every few seconds.
    private static let pictureWithin = Duration.seconds(3)

    /// The latest arrival of anything that was taken.
    var latest: Instant? { [picture.last, sound.last].compactMap { $0 }.max() }

    /// Returns whether the frame of a connection is taken.
    mutating func frame(of number: Int, isKeyframe: Bool, at now: Instant) -> Bool {
        picture.take(number, mayBegin: isKeyframe, at: now).isTaken
    }

    /// Returns whether the packet of a connection is taken, and whether its numbers begin anew.
    mutating func packet(of number: Int, at now: Instant) -> (isTaken: Bool, isFirst: Bool) {
        let taken = sound.take(number, mayBegin: true, at: now)
        if taken.isFirst { soundSince = now }
        return taken
    }

    /// The connection that gives picture and audio now, with its gaps where it took over from another one; nil where
    /// this has been asked for already, or one of the two still comes by another connection.
    mutating func newConnection(at now: Instant) -> (number: Int, gaps: Gaps?)? {
        guard sound.number > told, picture.number == sound.number || now - soundSince > Self.pictureWithin else {
            return nil
        }
        told = sound.number
        let hasPicture = picture.number == sound.number
        guard let soundGap = sound.gap else { return (told, nil) }
        let pictureGap = hasPicture ? picture.gap : picture.last.map { now - $0 }
        return (told, Gaps(picture: pictureGap ?? .zero, sound: soundGap))
    }
}
