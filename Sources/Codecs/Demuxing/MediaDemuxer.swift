import CFFmpeg
import Glibc

/// Reads the coded packets of one video and one audio stream with libavformat, from a URL or from bytes that the caller
/// fetches. One thread uses it, which it may block; `ReadInterrupt` ends that.
///
/// The library opens nothing by itself but the URL that it was given: what a playlist names goes through `Nested`, other
/// demuxers than the listed ones do not run. An RTSP server's redirection it would follow, had its process more sockets
/// than that of its first connection.
package final class MediaDemuxer {
    package enum Origin {
        /// A URL that a protocol of the library reads, with that protocol's options; `protocols` are all that it may
        /// use.
        case url(String, options: [String: String], protocols: String)
        /// A URL whose connection the demuxer itself opens, over TCP.
        case rtsp(String)
        /// `name` is what a playlist's relative URLs are relative to.
        case bytes(any ByteSource, name: String)
    }

    /// Opens a URL that a playlist names, or throws.
    package typealias Nested = (_ url: String, _ range: Range<Int64>?) throws -> any ByteSource

    /// A file has a few streams; a hostile one could have thousands.
    private static let maxStreams: Int32 = 64
    /// Bytes that are read to recognise the format.
    private static let probeBytes: Int64 = 1 << 20
    /// Where the header does not list the streams, they are those of the first packets: so many, or so many bytes.
    private static let firstPackets = 200
    private static let firstBytes = 4 << 20
    /// Among the variants of a playlist the best one up to this is taken, in bits a second.
    private static let variantRate = 5_000_000

    private let format: UnsafeMutablePointer<AVFormatContext>
    private let callbacks: DemuxerCallbacks
    /// What the library reads from: bytes of ours, or a connection of its own.
    private let io: SourceIO?
    private let connection: UnsafeMutablePointer<AVIOContext>?
    private let packet: Packet
    private var videoIndex: Int32 = -1
    private var audioIndex: Int32 = -1
    /// Of the first packet, in microseconds.
    private var firstTime: Int64?
    /// Read while the streams were being chosen.
    private var waiting: [DemuxedPacket] = []

    package private(set) var video: InputVideoDecoder?
    package private(set) var audio: InputAudioDecoder?

    /// Opens the source, and chooses the streams.
    ///
    /// - Parameters:
    ///   - formats: the names of the demuxers that may run.
    ///   - maxPixels: larger pictures are not decoded.
    ///   - connected: called once a connection is there, before the first byte is read.
    package init(
        _ origin: Origin, formats: String, maxPixels: Int, interrupt: ReadInterrupt, connected: () -> Void = {},
        nested: Nested? = nil
    ) throws {
        FFmpeg.silenced
        packet = try Packet()
        callbacks = DemuxerCallbacks(interrupt, nested)
        if case .bytes(let source, _) = origin { io = try SourceIO(source) } else { io = nil }
        (format, connection) = try Self.open(origin, formats, io, callbacks, connected)
        try chooseStreams(maxPixels)
    }

    deinit {
        var format: UnsafeMutablePointer<AVFormatContext>? = format
        avformat_close_input(&format)
        var connection = connection
        if connection != nil { avio_closep(&connection) }
    }

    /// The next packet of the chosen streams; nil at the end.
    package func next() throws -> DemuxedPacket? {
        if !waiting.isEmpty { return waiting.removeFirst() }
        while true {
            guard let (index, packet) = try read() else { return nil }
            if index == videoIndex || index == audioIndex { return packet }
        }
    }

    /// Whether the source has an end, so that it can be played again from the start.
    package var isFinite: Bool { format.pointee.duration > 0 && format.pointee.duration != kAV_NOPTS_VALUE }

    /// Goes back to the start. The times of the packets start again, too. Returns false where the format or the server
    /// has no way back.
    package func rewind() -> Bool { av_seek_frame(format, -1, firstTime ?? 0, AVSEEK_FLAG_BACKWARD) >= 0 }

    // MARK: - Opening

    private static func open(
        _ origin: Origin, _ formats: String, _ io: SourceIO?, _ callbacks: DemuxerCallbacks,
        _ connected: () -> Void
    ) throws -> (UnsafeMutablePointer<AVFormatContext>, UnsafeMutablePointer<AVIOContext>?) {
        let context = try FFmpeg.allocated(avformat_alloc_context(), "demuxer")
        // The callbacks live as long as the demuxer, which closes the context in its `deinit`.
        let opaque = Unmanaged.passUnretained(callbacks).toOpaque()
        context.pointee.interrupt_callback = AVIOInterruptCB(callback: mustStop, opaque: opaque)
        context.pointee.opaque = opaque
        context.pointee.io_open = openNested
        context.pointee.io_close2 = closeNested
        context.pointee.max_streams = maxStreams
        context.pointee.probesize = probeBytes
        av_opt_set(context, "format_whitelist", formats, 0)
        av_opt_set(context, "codec_whitelist", InputCodecs.whitelist, 0)

        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        var connection: UnsafeMutablePointer<AVIOContext>?
        var input: UnsafePointer<AVInputFormat>?
        let name: String
        switch origin {
        case .url(let url, let own, let protocols):
            var settings: OpaquePointer?
            defer { av_dict_free(&settings) }
            for (key, value) in own { av_dict_set(&settings, key, value, 0) }
            av_dict_set(&settings, "protocol_whitelist", protocols, 0)
            let result = avio_open2(
                &connection, url, AVIO_FLAG_READ, &context.pointee.interrupt_callback, &settings)
            guard result >= 0, connection != nil else {
                avformat_free_context(context)
                throw callbacks.error(result)
            }
            connected()
            context.pointee.pb = connection
            name = url
        case .rtsp(let url):
            // Media over UDP would come from wherever the server says.
            av_opt_set(context, "protocol_whitelist", "tcp", 0)
            av_dict_set(&options, "rtsp_transport", "tcp", 0)
            input = av_find_input_format("rtsp")
            name = url
        case .bytes(_, let given):
            context.pointee.pb = io?.context
            // These would reuse a connection of the library, which there is not.
            av_dict_set(&options, "http_persistent", "0", 0)
            av_dict_set(&options, "http_multiple", "0", 0)
            name = given
        }
        if context.pointee.pb != nil { context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO }
        var format: UnsafeMutablePointer<AVFormatContext>? = context
        let result = avformat_open_input(&format, name, input, &options)
        guard result >= 0, let format else {
            if connection != nil { avio_closep(&connection) }
            throw callbacks.error(result, io)
        }
        return (format, connection)
    }

    private func error(_ code: Int32) -> any Error { callbacks.error(code, io) }

    // MARK: - Streams

    private var streams: [UnsafeMutablePointer<AVStream>] {
        (0..<Int(format.pointee.nb_streams)).compactMap { format.pointee.streams[$0] }
    }

    private static func kind(of stream: UnsafeMutablePointer<AVStream>) -> DemuxedPacket.Kind? {
        switch stream.pointee.codecpar.pointee.codec_type {
        // Covers of audio files are streams, too.
        case AVMEDIA_TYPE_VIDEO: stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0 ? .video : nil
        case AVMEDIA_TYPE_AUDIO: .audio
        default: nil
        }
    }

    private func chooseStreams(_ maxPixels: Int) throws {
        var (seen, bytes): ([(index: Int32, packet: DemuxedPacket)], Int) = ([], 0)
        while format.pointee.ctx_flags & AVFMTCTX_NOHEADER != 0, seen.count < Self.firstPackets, bytes < Self.firstBytes
        {
            guard let next = try read() else { break }
            seen.append((next.index, next.packet))
            bytes += next.packet.byteCount
            if Set(seen.map(\.packet.kind)).count == 2 { break }
        }
        let all = streams
        let candidates = program(all) ?? all
        let shown = candidates.filter { Self.kind(of: $0) == .video }
        let heard = candidates.filter { Self.kind(of: $0) == .audio }
        var faults: [String] = []
        for stream in Self.best(shown, maxPixels) where video == nil {
            do throws(CodecError) {
                video = try InputVideoDecoder(stream, maxPixels: maxPixels)
                videoIndex = stream.pointee.index
            } catch {
                faults.append("\(error)")
            }
        }
        if video == nil, faults.isEmpty, !shown.isEmpty {
            faults.append("its pictures have more than \(maxPixels) pixels (inputs.maxPixels)")
        }
        for stream in Self.best(heard, .max) where audio == nil {
            do throws(CodecError) {
                audio = try InputAudioDecoder(stream)
                audioIndex = stream.pointee.index
            } catch {
                faults.append("\(error)")
            }
        }
        if video == nil, audio == nil {
            throw DemuxError.noMedia(
                faults.isEmpty ? "it has neither video nor audio" : faults.joined(separator: "; "))
        }
        for stream in all where stream.pointee.index != videoIndex && stream.pointee.index != audioIndex {
            stream.pointee.discard = AVDISCARD_ALL
        }
        waiting = seen.filter { $0.index == videoIndex || $0.index == audioIndex }.map(\.packet)
    }

    /// The streams of one of several programs (the variants of a playlist, the channels of a transport stream); nil
    /// where there are not several.
    private func program(_ streams: [UnsafeMutablePointer<AVStream>]) -> [UnsafeMutablePointer<AVStream>]? {
        guard format.pointee.nb_programs > 1 else { return nil }
        var programs: [(streams: [UnsafeMutablePointer<AVStream>], rate: Int)] = []
        for index in 0..<Int(format.pointee.nb_programs) {
            guard let program = format.pointee.programs[index] else { continue }
            let members = Set((0..<Int(program.pointee.nb_stream_indexes)).map { program.pointee.stream_index[$0] })
            let own = streams.filter { members.contains(UInt32(bitPattern: $0.pointee.index)) }
            guard own.contains(where: { Self.kind(of: $0) != nil }) else { continue }
            let rate = av_dict_get(program.pointee.metadata, "variant_bitrate", nil, 0)
                .flatMap { Int(String(cString: $0.pointee.value)) }
            programs.append((own, rate ?? 0))
        }
        let affordable = programs.filter { $0.rate <= Self.variantRate }
        // The first of equals.
        let best =
            affordable.isEmpty
            ? programs.min { $0.rate < $1.rate } : affordable.reversed().max { $0.rate < $1.rate }
        return best?.streams
    }

    /// The streams of a kind, the best first: those that their container prefers, then the larger pictures.
    private static func best(
        _ streams: [UnsafeMutablePointer<AVStream>], _ maxPixels: Int
    ) -> [UnsafeMutablePointer<AVStream>] {
        func pixels(_ stream: UnsafeMutablePointer<AVStream>) -> Int {
            Int(stream.pointee.codecpar.pointee.width) * Int(stream.pointee.codecpar.pointee.height)
        }
        func rank(_ stream: UnsafeMutablePointer<AVStream>) -> (Int, Int, Int32) {
            (
                stream.pointee.disposition & AV_DISPOSITION_DEFAULT != 0 ? 1 : 0, pixels(stream),
                -stream.pointee.index
            )
        }
        return streams.filter { pixels($0) <= maxPixels }.sorted { rank($0) > rank($1) }
    }

    /// Reads a packet of audio or video; nil at the end.
    private func read() throws -> (index: Int32, packet: DemuxedPacket)? {
        while true {
            let result = av_read_frame(format, packet.pointer)
            if result == kAVERROR_EOF {
                if let failure = io?.failure { throw failure }
                return nil
            }
            guard result >= 0 else { throw error(result) }
            let index = packet.pointer.pointee.stream_index
            guard index >= 0, UInt32(index) < format.pointee.nb_streams,
                let stream = format.pointee.streams[Int(index)], let kind = Self.kind(of: stream),
                packet.pointer.pointee.size > 0
            else {
                av_packet_unref(packet.pointer)
                continue
            }
            if firstTime == nil, packet.pointer.pointee.dts != kAV_NOPTS_VALUE {
                firstTime = av_rescale_q(
                    packet.pointer.pointee.dts, stream.pointee.time_base, AVRational(num: 1, den: 1_000_000))
            }
            return (index, try DemuxedPacket(kind, movingFrom: packet, timeBase: stream.pointee.time_base))
        }
    }
}
