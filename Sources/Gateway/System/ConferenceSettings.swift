import Admission
import Basics
import Cluster
import Conference
import RoomMedia
import Settings

extension ConferenceConfiguration {
    /// The conference's part of the settings.
    init(_ settings: TesseraConfiguration) {
        self.init()
        media.udp = [settings.media.listen]
        media.tcp = settings.media.tcp ? [settings.media.listen] : []
        media.announce = settings.media.announce
        media.loops = settings.media.loops
        audioThreads = settings.audio.threads
        rooms = settings.rooms
        video = settings.video
        audio = settings.audio.mix
        recording = settings.recording.files
        streams = settings.streams
        roomsInMetrics = settings.metrics.rooms
        inputs = settings.inputs
        pictures.directory = settings.doors.directory + "/pictures"
        avatarsDirectory = settings.doors.directory + "/avatars"
        pictures.maxBytes = settings.doors.pictureBytes
        publicURL = settings.http.publicURL
        limits = settings.limits.conference
        layoutsDirectory = settings.layouts.directory
        if settings.cluster.isOn {
            seatSecrets = ClusterTickets(secret: settings.cluster.secret)
            recording.node = settings.cluster.nodeID
        } else {
            // The nodes of a cluster have the store.
            roomsFile = settings.doors.directory + "/rooms.json"
        }
    }
}
