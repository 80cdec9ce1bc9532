import Basics
import Codecs

/// The audio codec of a recording.
package enum RecordingAudio: String, Sendable, Codable, CaseIterable {
    /// AAC-LC, which all players support.
    case aac
    /// Opus, which is better at the same rate, but which some old players do not support.
    case opus
}

/// Encodes a recording's mono audio with either codec. Not Sendable: confined to the recorder's queue.
final class AudioEncoder {
    private enum Codec {
        case aac(AACEncoder)
        case opus(OpusEncoder)
    }

    let isOpus: Bool
    let bitRate: BitRate
    /// Samples in a packet.
    let frameSize: Int
    /// How many priming samples precede the first real one.
    let priming: Int
    /// The codec's configuration in the file: AudioSpecificConfig, or OpusHead (RFC 7845 §5.1).
    let description: [UInt8]

    private let codec: Codec
    private var pending: [Float] = []
    private var position: Int64

    init(_ audio: RecordingAudio) throws(RecordingError) {
        do throws(CodecError) {
            switch audio {
            case .aac:
                let encoder = try AACEncoder(bitRate: .kilobits(96))
                codec = .aac(encoder)
                isOpus = false
                bitRate = encoder.bitRate
                frameSize = AACEncoder.frameSize
                priming = encoder.priming
                description = encoder.audioSpecificConfig
            case .opus:
                bitRate = .kilobits(64)
                let encoder = try OpusEncoder(bitRate: bitRate, application: .audio)
                codec = .opus(encoder)
                isOpus = true
                frameSize = OpusEncoder.frameSize
                priming = encoder.lookahead
                let skip = UInt16(clamping: encoder.lookahead)
                // Version 1, one channel, pre-skip, 48 000 Hz, no gain, mapping family 0; little endian.
                description =
                    Array("OpusHead".utf8) + [1, 1, UInt8(skip & 255), UInt8(skip >> 8), 0x80, 0xBB, 0, 0, 0, 0, 0]
            }
        } catch {
            throw .codec("\(error)")
        }
        position = -Int64(priming)
    }

    /// Encodes samples and returns the packets that they complete.
    func encode(_ samples: [Float]) throws(RecordingError) -> [AudioPacket] {
        var packets: [AudioPacket] = []
        do throws(CodecError) {
            switch codec {
            case .aac(let encoder):
                try encoder.encode(samples) {
                    packets.append(AudioPacket(data: $0.data, position: $0.position, sampleCount: $0.sampleCount))
                }
            case .opus(let encoder):
                pending += samples
                var start = 0
                while pending.count - start >= frameSize {
                    let data = try encoder.encode(Array(pending[start..<start + frameSize]))
                    packets.append(AudioPacket(data: data, position: position, sampleCount: frameSize))
                    position += Int64(frameSize)
                    start += frameSize
                }
                pending.removeFirst(start)
            }
        } catch {
            throw .codec("\(error)")
        }
        return packets
    }

    /// Encodes the remaining samples and returns their packets.
    func finish() throws(RecordingError) -> [AudioPacket] {
        switch codec {
        case .aac(let encoder):
            var packets: [AudioPacket] = []
            do throws(CodecError) {
                try encoder.finish {
                    packets.append(AudioPacket(data: $0.data, position: $0.position, sampleCount: $0.sampleCount))
                }
            } catch {
                throw .codec("\(error)")
            }
            return packets
        case .opus:
            let real = pending.count + priming
            let filled = (real + frameSize - 1) / frameSize * frameSize
            var packets = try encode([Float](repeating: 0, count: filled - pending.count))
            let last = real - (filled - frameSize)
            if !packets.isEmpty, last > 0 { packets[packets.count - 1].sampleCount = last }
            return packets
        }
    }
}
