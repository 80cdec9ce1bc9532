import Basics
import Codecs

/// Puts a room's media on the timeline of one connection, which begins with its first keyframe.
final class StreamSender {
    private let muxer: StreamMuxer
    /// The room time of the connection's zero, in ticks of 90 kHz.
    private let origin: Int64

    /// Begins with a keyframe; nil where it has no parameter sets.
    init?(
        _ connection: OutputConnection, to url: MediaURL, first frame: EncodedVideoFrame, audioConfiguration: [UInt8]
    ) throws(StreamingError) {
        let sets = AnnexB.parameterSets(frame.data)
        guard frame.isKeyframe, !sets.isEmpty else { return nil }
        origin = frame.timestamp
        muxer = try StreamMuxer(
            connection, to: url, width: frame.width, height: frame.height, parameterSets: sets,
            audioConfiguration: audioConfiguration)
        try send(.video(frame))
    }

    func send(_ item: StreamQueue.Item) throws(StreamingError) {
        switch item {
        case .video(let frame):
            try muxer.write(
                video: frame.data, isKeyframe: frame.isKeyframe, time: frame.timestamp - origin,
                sets: frame.isKeyframe ? AnnexB.parameterSets(frame.data) : [])
        case .audio(let packet):
            // 48 kHz of 90 kHz are 8 of 15.
            let time = packet.time - origin * 8 / 15
            if time >= 0 { try muxer.write(audio: packet.data, time: time) }
        }
    }

    func finish() throws(StreamingError) { try muxer.finish() }
}
