from django.apps import AppConfig


class ServersConfig(AppConfig):
    name = "webapp.servers"
    label = "servers"
