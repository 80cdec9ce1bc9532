public import Basics

/// The configuration of rooms' media.
public enum RoomMediaConfiguration {
    /// One step of the ladder.
    public struct Rung: Hashable, Sendable {
        /// In pixels; the width follows from the room's canvas.
        public var height: Int
        /// nil: the room's.
        public var framesPerSecond: Int?
        public var bitRate: BitRate

        public init(height: Int, framesPerSecond: Int? = nil, bitRate: BitRate) {
            self.height = height
            self.framesPerSecond = framesPerSecond
            self.bitRate = bitRate
        }

        /// The default ladder, from the top down.
        public static let standard = [
            Rung(height: 720, bitRate: .kilobits(1500)), Rung(height: 360, bitRate: .kilobits(450)),
            Rung(height: 180, framesPerSecond: 15, bitRate: .kilobits(110)),
        ]
    }

    public struct Audio: Sendable, Equatable {
        /// Whether every voice is brought to a common loudness.
        public enum Level: String, Sendable, CaseIterable { case auto, off }
        public var bitRate: BitRate = .kilobits(32)
        public var level = Level.auto
        /// How many of the loudest participants are mixed at once.
        public var maxSpeakers = 6
        public init() {}
    }
}
