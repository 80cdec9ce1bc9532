import Basics
import Conference
import RoomMedia

extension ConferenceConfiguration {
    /// The conference's part of the settings.
    init(_ settings: TesseraConfiguration) {
        self.init()
        media.udp = [settings.media.listen]
        media.tcp = settings.media.tcp ? [settings.media.listen] : []
        media.announce = settings.media.announce
        media.loops = settings.media.loops
        audioThreads = settings.audio.threads
        rooms.settings.layout = settings.rooms.layout
        rooms.settings.width = settings.rooms.width
        rooms.settings.height = settings.rooms.height
        rooms.settings.framesPerSecond = settings.rooms.framesPerSecond
        rooms.settings.maxParticipants = settings.rooms.maxParticipants
        rooms.emptyTimeout = settings.rooms.emptyTimeout
        rooms.create = settings.rooms.create == .api ? .api : .onJoin
        video.codecs = settings.video.codecs
        video.renditions = settings.video.renditions.map {
            Rung(height: $0.height, framesPerSecond: $0.framesPerSecond, bitRate: $0.bitrate)
        }
        audio.bitRate = settings.audio.bitrate
        audio.maxSpeakers = settings.audio.maxSpeakers
        recording.directory = settings.recording.directory
        recording.start = settings.recording.start == .onFirstJoin ? .onFirstJoin : .manual
        recording.segment = settings.recording.segment
        recording.audio = settings.recording.audio == .opus ? .opus : .aac
        recording.minimumFree = settings.recording.minimumFree
        recording.startsPerMinute = settings.recording.startsPerMinute
        limits = settings.limits.conference
        layoutsDirectory = settings.layouts.directory
    }
}
