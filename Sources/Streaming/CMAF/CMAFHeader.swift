/// The header of fragments with one video and one audio track (ISO/IEC 23000-19 §7.3.1), which a player reads first.
struct CMAFHeader: Hashable, Sendable {
    static let (videoTrack, audioTrack): (UInt32, UInt32) = (1, 2)
    static let (videoRate, audioRate): (UInt32, UInt32) = (90_000, 48_000)

    let video: H264Description
    /// AudioSpecificConfig of AAC-LC, mono, 48 kHz.
    let audio: [UInt8]
    let audioBitRate: Int

    /// `CODECS` of a playlist.
    var codecs: String { "\(video.codec),mp4a.40.2" }

    var bytes: [UInt8] {
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.text("iso6")
            writer.u32(0)
            for brand in ["iso6", "cmfc", "mp41"] { writer.text(brand) }
        }
        writer.box("moov") { writer in
            writer.fullBox("mvhd") { writer in
                writer.u32(0, 0, 1000, 0)
                writer.u32(0x10000)
                writer.u16(0x100, 0)
                writer.u32(0, 0)
                writer.matrix()
                writer.zeros(24)
                writer.u32(3)
            }
            track(Self.videoTrack, &writer)
            track(Self.audioTrack, &writer)
            writer.box("mvex") { writer in
                for track in [Self.videoTrack, Self.audioTrack] {
                    writer.fullBox("trex") { $0.u32(track, 1, 0, 0, 0) }
                }
            }
        }
        return writer.bytes
    }

    private func track(_ id: UInt32, _ writer: inout BoxWriter) {
        let isVideo = id == Self.videoTrack
        writer.box("trak") { writer in
            // Enabled, in the movie, in the preview.
            writer.fullBox("tkhd", flags: 7) { writer in
                writer.u32(0, 0, id, 0, 0, 0, 0)
                writer.u16(0, isVideo ? 0 : 1, isVideo ? 0 : 0x100, 0)
                writer.matrix()
                writer.u32(isVideo ? fixed(video.width) : 0, isVideo ? fixed(video.height) : 0)
            }
            writer.box("mdia") { writer in
                writer.fullBox("mdhd") { writer in
                    writer.u32(0, 0, isVideo ? Self.videoRate : Self.audioRate, 0)
                    // `und`, in three letters of five bits.
                    writer.u16(0x55C4, 0)
                }
                writer.fullBox("hdlr") { writer in
                    writer.u32(0)
                    writer.text(isVideo ? "vide" : "soun")
                    writer.zeros(13)
                }
                writer.box("minf") { writer in
                    if isVideo {
                        writer.fullBox("vmhd", flags: 1) { $0.zeros(8) }
                    } else {
                        writer.fullBox("smhd") { $0.zeros(4) }
                    }
                    writer.box("dinf") { writer in
                        writer.fullBox("dref") { writer in
                            writer.u32(1)
                            // The media is in the same file.
                            writer.fullBox("url ", flags: 1) { _ in }
                        }
                    }
                    writer.box("stbl") { writer in
                        writer.fullBox("stsd") { writer in
                            writer.u32(1)
                            if isVideo { videoEntry(&writer) } else { audioEntry(&writer) }
                        }
                        writer.fullBox("stts") { $0.u32(0) }
                        writer.fullBox("stsc") { $0.u32(0) }
                        writer.fullBox("stsz") { $0.u32(0, 0) }
                        writer.fullBox("stco") { $0.u32(0) }
                    }
                }
            }
        }
    }

    private func videoEntry(_ writer: inout BoxWriter) {
        writer.box("avc1") { writer in
            writer.zeros(6)
            writer.u16(1)
            writer.zeros(16)
            writer.u16(UInt16(clamping: video.width), UInt16(clamping: video.height))
            // 72 dpi, one frame in a sample, no name, 24 bits.
            writer.u32(0x48_0000, 0x48_0000, 0)
            writer.u16(1)
            writer.zeros(32)
            writer.u16(0x18, 0xFFFF)
            writer.box("avcC") { $0.raw(video.record) }
        }
    }

    private func audioEntry(_ writer: inout BoxWriter) {
        writer.box("mp4a") { writer in
            writer.zeros(6)
            writer.u16(1)
            writer.zeros(8)
            writer.u16(1, 16, 0, 0)
            writer.u32(Self.audioRate << 16)
            // ES_Descriptor (ISO/IEC 14496-1 §7.2.6.5): AAC in an audio stream, its configuration, and SL of MP4 files.
            writer.fullBox("esds") { writer in
                let rate = UInt32(clamping: audioBitRate)
                writer.u8(3, UInt8(clamping: 23 + audio.count), 0, 2, 0)
                writer.u8(4, UInt8(clamping: 15 + audio.count), 0x40, 0x15, 0, 0, 0)
                writer.u32(rate, rate)
                writer.u8(5, UInt8(clamping: audio.count))
                writer.raw(audio)
                writer.u8(6, 1, 2)
            }
        }
    }

    private func fixed(_ value: Int) -> UInt32 { UInt32(clamping: value) << 16 }
}

extension BoxWriter {
    /// The matrix that changes nothing.
    fileprivate mutating func matrix() { u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000) }
}
