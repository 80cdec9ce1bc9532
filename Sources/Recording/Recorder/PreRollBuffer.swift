import Basics

/// Media of a `PreRoll` on its way into a recording; its memory is free again when the recording has it.
final class PreRollBuffer: Sendable {
    /// A block of audio.
    struct Block: Sendable {
        private let samples: [Int16]
        /// The room time in samples at 48 kHz.
        let timestamp: Int64

        init(_ samples: [Float], _ timestamp: Int64) {
            self.samples = samples.map { Int16(max(-1, min($0, 1)) * Float(Int16.max)) }
            self.timestamp = timestamp
        }

        var bytes: Int { samples.count * MemoryLayout<Int16>.stride }
        var time: Instant { .zero + .microseconds(timestamp * 125 / 6) }
        var audio: [Float] { samples.map { Float($0) / Float(Int16.max) } }
    }

    private let frames: [EncodedVideoFrame]
    private let audio: [Block]
    private let bytes: Int
    private let memory: RecordingMemory

    init(frames: [EncodedVideoFrame], audio: [Block], bytes: Int, memory: RecordingMemory) {
        self.frames = frames
        self.audio = audio
        self.bytes = bytes
        self.memory = memory
    }

    deinit { memory.give(bytes) }

    /// Appends everything to `work` in the order of its times.
    func append(to work: RecorderWork) {
        var left = audio[...]
        for frame in frames {
            // Ticks of 720 kHz, in which both rates are whole.
            while let block = left.first, block.timestamp * 15 <= frame.timestamp * 8 {
                work.append(audio: block.audio, timestamp: block.timestamp)
                left = left.dropFirst()
            }
            work.append(frame)
        }
        for block in left { work.append(audio: block.audio, timestamp: block.timestamp) }
    }
}
