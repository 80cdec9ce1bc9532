import Basics
import Synchronization

/// The memory for media that waits for a slow disk, shared by all recordings.
package final class RecordingMemory: Sendable {
    /// 32 MiB, a minute and a half of one recording at 1.5 Mbit/s, whose audio waits as samples.
    package static let defaultPerRecording = 32 << 20
    /// The limit of eight recordings; a disk that does not answer delays all of them.
    package static let defaultInAll = 256 << 20

    let perRecording: Int
    private let inAll: Int
    private let taken = Atomic<Int>(0)

    /// In bytes.
    package init(perRecording: Int = defaultPerRecording, inAll: Int = defaultInAll) {
        self.perRecording = perRecording
        self.inAll = inAll
    }

    /// Bytes that wait now.
    package var waiting: Int { taken.load(ordering: .relaxed) }

    func take(_ bytes: Int) -> Bool {
        if taken.wrappingAdd(bytes, ordering: .relaxed).newValue <= inAll { return true }
        give(bytes)
        return false
    }

    func give(_ bytes: Int) { taken.wrappingSubtract(bytes, ordering: .relaxed) }
}

/// The media of one recording that waits for the disk. Beyond the limit new media is dropped and counted: frames up to
/// the next keyframe, and audio, which becomes silence.
final class RecordingBacklog: Sendable {
    private struct Load {
        var bytes = 0
        var skipsToKeyframe = false
        var losses = RecordingLosses()
    }

    private let memory: RecordingMemory
    private let load = Guarded(Load())

    init(_ memory: RecordingMemory) { self.memory = memory }

    var losses: RecordingLosses { load.withLock { $0.losses } }

    /// Counts a frame of `size` bytes, which `done` releases. Returns false where it is dropped instead.
    func takeFrame(_ size: Int, isKeyframe: Bool) -> Bool {
        load.withLock { load in
            let limit = memory.perRecording
            // The frames after a lost one depend on it. Half of the memory must be free before recording begins again;
            // otherwise each keyframe would be lost again.
            let mayBegin = isKeyframe && load.bytes <= limit / 2
            guard !load.skipsToKeyframe || mayBegin, load.bytes + size <= limit, memory.take(size) else {
                load.skipsToKeyframe = true
                load.losses.video += 1
                return false
            }
            load.skipsToKeyframe = false
            load.bytes += size
            return true
        }
    }

    func takeAudio(_ size: Int) -> Bool {
        if take(size) { return true }
        load.withLock { $0.losses.audio += 1 }
        return false
    }

    /// Counts `size` bytes, which `done` releases, or returns false where they are too many.
    func take(_ size: Int) -> Bool {
        load.withLock { load in
            guard load.bytes + size <= memory.perRecording, memory.take(size) else { return false }
            load.bytes += size
            return true
        }
    }

    func done(_ size: Int) {
        load.withLock { $0.bytes -= size }
        memory.give(size)
    }
}
