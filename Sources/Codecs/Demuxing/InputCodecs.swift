import CFFmpeg

/// The codecs that are decoded for inputs. libavcodec has some 400 decoders, most of them for the files of old games and
/// programs, which few people look at; a source from outside reaches none of these.
enum InputCodecs {
    /// For people, in the order of the errors that name them.
    static let videoNames = "H.264, HEVC, VP8, VP9, AV1, MPEG-2, MPEG-4 or MJPEG"
    static let audioNames = "AAC, MP3, MP2, AC-3, Opus, Vorbis, FLAC or PCM"

    static let video: [AVCodecID] = [
        AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1, AV_CODEC_ID_MPEG2VIDEO,
        AV_CODEC_ID_MPEG4, AV_CODEC_ID_MJPEG,
    ]
    /// AAC in LATM is AAC with other headers, as broadcasters send it. Of PCM: what needs no more than a table.
    static let audio: [AVCodecID] = [
        AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_MP3, AV_CODEC_ID_MP2, AV_CODEC_ID_AC3, AV_CODEC_ID_OPUS,
        AV_CODEC_ID_VORBIS, AV_CODEC_ID_FLAC,
        AV_CODEC_ID_PCM_U8, AV_CODEC_ID_PCM_S8, AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE, AV_CODEC_ID_PCM_S24LE,
        AV_CODEC_ID_PCM_S24BE, AV_CODEC_ID_PCM_S32LE, AV_CODEC_ID_PCM_S32BE, AV_CODEC_ID_PCM_F32LE,
        AV_CODEC_ID_PCM_F32BE, AV_CODEC_ID_PCM_F64LE, AV_CODEC_ID_PCM_F64BE, AV_CODEC_ID_PCM_ALAW,
        AV_CODEC_ID_PCM_MULAW,
    ]

    /// The decoders of these codecs by name, for the option `codec_whitelist` of demuxers and decoders: libavformat
    /// runs a decoder by itself where a container does not say what is in it.
    static let whitelist = (video + audio).compactMap { StreamDecoder.software($0) }
        .map { String(cString: $0.pointee.name) }.joined(separator: ",")

    /// Throws where a stream's codec is not in the list.
    static func check(_ id: AVCodecID, _ kind: DemuxedPacket.Kind) throws(CodecError) {
        let (list, names, what) =
            switch kind {
            case .video: (video, videoNames, "video")
            case .audio: (audio, audioNames, "audio")
            }
        guard !list.contains(id) else { return }
        throw .unsupportedInput(
            "its \(what) is \(String(cString: avcodec_get_name(id))), which inputs do not take: encode it as \(names)")
    }
}
