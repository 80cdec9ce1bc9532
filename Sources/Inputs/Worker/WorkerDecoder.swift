import Basics
import Codecs

/// The thread of the worker that decodes packets, as the server asks for them.
final class WorkerDecoder {
    private let channel: Channel
    private let packets: WorkerPackets
    private let video: InputVideoDecoder?
    private let audio: InputAudioDecoder?
    private let pictures: UnsafeMutableRawPointer
    private let maxPixels: Int

    init(
        _ channel: Channel, _ packets: WorkerPackets, _ demuxer: MediaDemuxer, pictures: UnsafeMutableRawPointer,
        maxPixels: Int
    ) {
        (self.channel, self.packets, self.pictures, self.maxPixels) = (channel, packets, pictures, maxPixels)
        (video, audio) = (demuxer.video, demuxer.audio)
    }

    /// Runs until the server closes the channel.
    func run() throws {
        while true {
            var isFaulty = false
            switch try DecodingRequest(try channel.receive()) {
            case .decode(let id, let times):
                guard let packet = packets.take(id) else {
                    isFaulty = true
                    break
                }
                switch times {
                case .kept: break
                case .shifted(let by): packet.shift(by: by)
                case .set(let time): packet.setTime(time)
                }
                isFaulty = try !decode(packet, packet.kind)
            case .drain(let kind): isFaulty = try !decode(nil, kind)
            case .flush(.video): video?.flush()
            case .flush(.audio): audio?.flush()
            case .taken: return
            }
            let size = video?.size ?? (width: 0, height: 0)
            try channel.send(
                DecodingReply.done(
                    width: UInt32(clamping: size.width), height: UInt32(clamping: size.height), isFaulty: isFaulty
                ).message)
        }
    }

    /// Returns false for damaged data.
    private func decode(_ packet: DemuxedPacket?, _ kind: DemuxedPacket.Kind) throws -> Bool {
        var failure: (any Error)?
        do throws(CodecError) {
            switch kind {
            case .video:
                try video?.decode(packet) { picture, time in
                    do { try show(picture, time) } catch { failure = error }
                }
            case .audio:
                var samples: [Float] = []
                let time = try audio?.decode(packet, into: &samples) ?? nil
                do { try channel.send(DecodingReply.samples(samples, time: time).message) } catch { failure = error }
            }
        } catch {
            return false
        }
        if let failure { throw failure }
        return true
    }

    /// Puts a picture into the shared memory, and waits until the server has copied it.
    private func show(_ picture: Picture, _ time: Duration?) throws {
        let bytes = PackedPicture.byteCount(width: picture.width, height: picture.height, maxPixels: maxPixels)
        guard bytes != nil else { return }
        PackedPicture.write(picture, to: pictures)
        try channel.send(
            DecodingReply.picture(
                width: UInt32(clamping: picture.width), height: UInt32(clamping: picture.height), time: time
            ).message)
        guard case .taken = try DecodingRequest(try channel.receive()) else { throw Channel.Failure.malformed }
    }
}
