import Basics
import Synchronization

/// What a recording lost because the disk was too slow for it.
public struct RecordingLosses: Codable, Hashable, Sendable {
    /// Pictures; those up to the next keyframe are lost with the first.
    public var video = 0
    /// Blocks of sound, 20 ms each in a room: silence in the file.
    public var audio = 0

    public init(video: Int = 0, audio: Int = 0) {
        self.video = video
        self.audio = audio
    }

    public var isEmpty: Bool { video == 0 && audio == 0 }

    public static func + (a: RecordingLosses, b: RecordingLosses) -> RecordingLosses {
        RecordingLosses(video: a.video + b.video, audio: a.audio + b.audio)
    }
}

/// The memory that media may take while it waits for a slow disk, of all recordings together.
public final class RecordingMemory: Sendable {
    /// 32 MiB are a minute and a half of one recording at 1.5 Mbit/s, whose sound waits as samples.
    public static let defaultPerRecording = 32 << 20
    /// Eight that are behind by as much; a disk that stands still makes all of them wait.
    public static let defaultInAll = 256 << 20

    let perRecording: Int
    private let inAll: Int
    private let taken = Atomic<Int>(0)

    /// In bytes.
    public init(perRecording: Int = defaultPerRecording, inAll: Int = defaultInAll) {
        self.perRecording = perRecording
        self.inAll = inAll
    }

    /// Bytes that wait now.
    public var waiting: Int { taken.load(ordering: .relaxed) }

    fileprivate func take(_ bytes: Int) -> Bool {
        if taken.wrappingAdd(bytes, ordering: .relaxed).newValue <= inAll { return true }
        give(bytes)
        return false
    }

    fileprivate func give(_ bytes: Int) { taken.wrappingSubtract(bytes, ordering: .relaxed) }
}

/// What of one recording waits for the disk. Beyond the limit new media is left out and counted: pictures up to the
/// next keyframe, sound as silence.
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

    /// Whether a picture of so many bytes is taken; then `done` gives them back.
    func takeFrame(_ size: Int, isKeyframe: Bool) -> Bool {
        load.withLock { load in
            let limit = memory.perRecording
            // The pictures after a lost one lean on it. Half of the room is to be free before it begins again, or each
            // keyframe would be lost anew.
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
        load.withLock { load in
            guard load.bytes + size <= memory.perRecording, memory.take(size) else {
                load.losses.audio += 1
                return false
            }
            load.bytes += size
            return true
        }
    }

    func done(_ size: Int) {
        load.withLock { $0.bytes -= size }
        memory.give(size)
    }
}
